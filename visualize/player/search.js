// The best-first search told from its record: which paths were open at any moment, and what became of each candidate.
(function (recap) {
  "use strict";
  const { NODE, FOUND, ROW } = recap;

  function depthPrior(search, depth) {
    return search.depth_priors[Math.min(depth, search.depth_priors.length) - 1];
  }

  function repeatsEdge(pass, parent, id) {
    for (let at = parent; at > 0; at = pass.nodes[at][NODE.parent]) {
      if (pass.nodes[at][NODE.token] === id && pass.nodes[pass.nodes[at][NODE.parent]][NODE.token] === pass.nodes[parent][NODE.token]) return true;
    }
    return false;
  }

  // The children that a node would push: token, place among the kept, q, phi (Eq. 8) and the node it became, or null.
  recap.candidates = function (search, pass, parent) {
    const node = pass.nodes[parent];
    if (!search || node[NODE.score] === null || node[NODE.depth] >= search.max_depth) return [];
    const prior = depthPrior(search, node[NODE.depth] + 1);
    const children = new Map();
    pass.nodes.forEach((child, index) => { if (child[NODE.parent] === parent) children.set(child[NODE.token], index); });
    return node[NODE.kept].slice(0, search.width).map(([id, q], rank) => {
      const at = children.has(id) ? children.get(id) : null;
      const blocked = search.blocked_ids.includes(id) || (search.forbid_repeated_edges && repeatsEdge(pass, parent, id));
      return { id, rank, q, prior, score: node[NODE.score] * prior * q, parent, blocked, node: at };
    });
  };

  // The places of a node's choices from the root on: ties go to the smaller one.
  function ranksTo(search, pass, index) {
    const ranks = [];
    for (let at = index; at > 0; at = pass.nodes[at][NODE.parent]) {
      const parent = pass.nodes[at][NODE.parent];
      ranks.unshift(pass.nodes[parent][NODE.kept].findIndex(([id]) => id === pass.nodes[at][NODE.token]));
    }
    return ranks;
  }

  function compareRanks(a, b) {
    for (let place = 0; place < Math.min(a.length, b.length); place += 1) if (a[place] !== b[place]) return a[place] - b[place];
    return a.length - b.length;
  }

  // Open paths once `made` nodes stand beside the root, best first: the first one is the next node.
  recap.openPaths = function (search, pass, made) {
    const open = [];
    pass.nodes.forEach((node, index) => {
      if (node[NODE.source] === "suffix" || node[NODE.pop] > made) return;
      for (const item of recap.candidates(search, pass, index)) {
        const isMade = item.node !== null && pass.nodes[item.node][NODE.source] !== "suffix" && pass.nodes[item.node][NODE.pop] <= made;
        if (!item.blocked && !isMade) open.push(Object.assign(item, { ranks: [...ranksTo(search, pass, index), item.rank] }));
      }
    });
    return open.sort((a, b) => b.score - a.score || compareRanks(a.ranks, b.ranks));
  };

  // The factors of a node's score along its path (Eq. 8), root first; the prior is what the recorded scores leave over.
  recap.factors = function (pass, index) {
    const factors = [];
    for (let at = index; at > 0; at = pass.nodes[at][NODE.parent]) {
      const node = pass.nodes[at], above = pass.nodes[node[NODE.parent]];
      const prior = node[NODE.score] === null ? null : node[NODE.score] / (above[NODE.score] * node[NODE.q]);
      factors.unshift({ node: at, id: node[NODE.token], prior, q: node[NODE.q], score: node[NODE.score] });
    }
    return factors;
  };

  // The lowest score that still became a node; null in a pass without fused nodes.
  recap.lowestScore = function (pass) {
    const scores = pass.nodes.map((node) => node[NODE.score]).filter((score) => score !== null);
    return scores.length > 1 ? Math.min(...scores) : null;
  };

  // Why the target's own token was not in the tree, as a word and numbers; null where it was or nothing was chosen.
  recap.whyMissed = function (search, pass, rows) {
    const id = pass.target_selected;
    if (id === null || !search) return null;
    const last = pass.accepted.length ? pass.accepted[pass.accepted.length - 1] : 0;
    const node = pass.nodes[last];
    if (pass.nodes.some((child) => child[NODE.parent] === last && child[NODE.token] === id)) return null;
    if (node[NODE.source] === "suffix") return { kind: "copied", last };
    if (node[NODE.depth] >= search.max_depth) return { kind: "deep", last };
    if (!node[NODE.kept].length) return { kind: recap.isLastMade(pass, last) ? "full" : "empty", last };
    const item = recap.candidates(search, pass, last).find((each) => each.id === id);
    if (item) return { kind: item.blocked ? "blocked" : "budget", last, place: item.rank + 1, score: item.score, lowest: recap.lowestScore(pass) };
    const sources = (found) => found.map((each) => each[FOUND.source]);
    const listing = node[NODE.retrieved].filter((found) => rows[found[FOUND.row]][ROW.ids].includes(id));
    return listing.length ? { kind: "dropped", last, sources: sources(listing) } : { kind: "unknown", last, sources: sources(node[NODE.retrieved]) };
  };

  // The search stops with its last node: what follows it is never looked up.
  recap.isLastMade = (pass, index) =>
    index > 0 && pass.nodes[index][NODE.pop] === Math.max(...pass.nodes.filter((node) => node[NODE.source] !== "suffix").map((node) => node[NODE.pop]));
})((window.RecapPlayer = window.RecapPlayer || {}));
