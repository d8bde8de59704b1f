// The panel of the chosen node: why it is here, what the memories said after it, and the mixture that was kept.
(function (recap) {
  "use strict";
  const { h, words, NODE, FOUND, ROW } = recap;

  function bar(share, source) {
    return h("i", { class: "rp-bar", style: { width: `${Math.max(0, Math.min(1, share)) * 100}%`, background: `var(--rp-${source})` } });
  }

  function writer(state, found) {
    const row = state.run.rows[found[FOUND.row]];
    const told = recap.writerOf(state, row);
    return row[ROW.pass] > 0 && found[FOUND.age] > 0 && row[ROW.request] === recap.requestNumber(state.run) ? words.age(found[FOUND.age]) : told;
  }

  // One line a row found: whose it is, and prior x confidence -> weight.
  function foundRows(state, node) {
    const head = h("tr", {}, h("th", {}), words.product.map((name, place) => h("th", { scope: "col", title: words.productMeans[place] }, name)));
    const rows = node[NODE.retrieved].map((found, rank) => {
      const source = found[FOUND.source];
      const key = found[FOUND.key].map((id) => recap.token(state.form(id)));
      return h("tr", {},
        h("td", {}, h("div", { class: "rp-found-key" }, recap.marker(state.payload.theme, source), h("b", {}, source), h("span", { class: "rp-key", title: found[FOUND.key].map((id) => state.form(id)).join("") }, key)),
          h("div", { class: "rp-writer" }, words.rank(rank), writer(state, found))),
        h("td", { class: "rp-factor" }, recap.number(found[FOUND.prior], 3)),
        h("td", { class: "rp-factor" }, recap.number(found[FOUND.confidence], 3)),
        h("td", { class: "rp-factor rp-weighed" }, recap.number(found[FOUND.weight], 3), h("div", { class: "rp-weight" }, bar(found[FOUND.weight], source))));
    });
    return h("table", { class: "rp-found" }, h("thead", {}, head), h("tbody", {}, rows));
  }

  // What became of a kept token: the node it was made, or why none.
  function fate(state, pass, item, onSelect) {
    if (!item) return null;
    if (item.node !== null && pass.nodes[item.node][NODE.pop] <= state.stage().made) {
      return h("button", { type: "button", class: "rp-plain rp-fate", title: words.becameNode(item.node), onclick: () => onSelect(item.node) }, item.node);
    }
    const open = state.stage().name === "grow";
    return h("span", { class: "rp-fate", title: item.blocked ? words.neverDrafted : (open ? words.stillOpen : words.outOfBudget)(recap.rounded(item.score, 5)) }, open && !item.blocked ? "\u2026" : "\u2013");
  }

  // A line a token: its probability in each row found, its share of the kept mixture, split by row, and its node.
  function mixture(state, pass, index, greedy, onSelect) {
    const node = pass.nodes[index];
    const fates = new Map(recap.candidates(state.run.search, pass, index).map((item) => [item.id, item]));
    const found = node[NODE.retrieved];
    const columns = found.map((item) => state.run.rows[item[FOUND.row]]);
    const kept = new Map(node[NODE.kept].map((entry) => [entry[0], entry]));
    const most = Math.max(...node[NODE.kept].map((entry) => entry[1]), 1e-9);
    const others = columns.flatMap((row) => row[ROW.ids]).filter((id) => !kept.has(id));
    const head = h("tr", {}, h("th", {}), found.map((item) => h("th", { scope: "col", class: "rp-cell" }, item[FOUND.source])), h("th", { scope: "col", colspan: 2 }, words.kept), h("th", { scope: "col" }, words.fate));
    const lines = [...kept.keys(), ...new Set(others)].map((id) => {
      const entry = kept.get(id);
      const cells = columns.map((row) => {
        const place = row[ROW.ids].indexOf(id);
        return h("td", { class: "rp-cell" }, place < 0 ? null : recap.cell(row[ROW.probabilities][place], 2));
      });
      const shares = entry ? entry[2].map((share, place) => bar(share / most, found[place][FOUND.source])) : null;
      return h("tr", { class: (entry ? "" : "rp-is-left") + (id === greedy ? " rp-is-greedy" : ""), title: entry ? null : words.notKept },
        h("td", {}, recap.token(state.form(id))), cells,
        h("td", { class: "rp-kept-bar" }, h("div", { class: "rp-stack" }, shares)), h("td", { class: "rp-q" }, entry ? recap.cell(entry[1], 3) : null),
        h("td", { class: "rp-q" }, fate(state, pass, fates.get(id), onSelect)));
    });
    const widths = ["28%", ...found.map(() => "34px"), "auto", "44px", "34px"].map((width) => h("col", { style: { width } }));
    return h("table", { class: "rp-kept" }, h("colgroup", {}, widths), h("thead", {}, head), h("tbody", {}, lines));
  }

  function heading(state, node, index) {
    const source = node[NODE.source];
    const facts = index === 0 ? words.root : `${words.proposedBy(state.payload.theme.labels[source])} \u00b7 ${words.depth(node[NODE.depth])}`;
    return h("div", { class: "rp-node-head" }, recap.marker(state.payload.theme, source),
      h("span", { class: "rp-node-token" }, recap.token(state.form(node[NODE.token]))), h("span", { class: "rp-node-facts" }, facts));
  }

  // For a copied node, which has no score: the choices that led here.
  function chain(state, pass, index) {
    return h("div", { class: "rp-chain" }, recap.factors(pass, index).map((item, place) =>
      [place ? h("span", { class: "rp-sign" }, "\u203a") : null, recap.token(state.form(item.id))]));
  }

  // Why nothing is said of what follows a node.
  function silence(state, pass, index) {
    const node = pass.nodes[index];
    if (node[NODE.source] === "suffix") return words.suffixNode;
    if (state.run.search && node[NODE.depth] >= state.run.search.max_depth) return words.deepest;
    return recap.isLastMade(pass, index) ? words.lastMade : words.noRows;
  }

  recap.fusionPanel = function (state, onSelect) {
    const pass = state.pass;
    if (!pass || !pass.nodes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const index = state.node === null ? 0 : state.node;
    const node = pass.nodes[index];
    const judged = state.isJudged();
    const parts = [heading(state, node, index)];
    if (judged) {
      parts.push(h("div", { class: "rp-line" }, h("span", { class: "rp-label" }, words.target), recap.token(state.form(node[NODE.greedy])),
        h("span", { class: "rp-raw", title: words.rawScores }, recap.number(node[NODE.scores][0], 2), words.against, recap.number(node[NODE.scores][1], 2))));
      const last = pass.accepted.length ? pass.accepted[pass.accepted.length - 1] : 0;
      const missed = index === last ? recap.missedSentence(state) : null;
      if (missed) parts.push(h("p", { class: "rp-note-box", "data-testid": "recap-why-missed" }, missed));
    }
    if (index) {
      if (node[NODE.score] === null) parts.push(chain(state, pass, index));
      else {
        parts.push(h("h4", {}, words.whyHere(node[NODE.pop], pass.nodes.filter((each) => each[NODE.source] !== "suffix").length - 1)),
          recap.productTable(state, pass, index, onSelect));
      }
    }
    if (!index && pass.budget) parts.push(recap.budgetChart(pass.budget));
    if (!node[NODE.retrieved].length) parts.push(h("p", { class: "rp-quiet" }, silence(state, pass, index)));
    else {
      parts.push(h("h4", {}, words.after, recap.token(state.form(node[NODE.token]))), foundRows(state, node),
        mixture(state, pass, index, judged ? node[NODE.greedy] : null, onSelect));
    }
    parts.push(recap.nextInLine(state, onSelect));
    return h("div", { class: "rp-fusion" }, parts);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
