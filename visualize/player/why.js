// Why a node is here, as a product along its path, and why others are not.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;
  const MOST_OPEN = 6;

  // A line a choice on the way: prior of its depth x q, and the score so far.
  recap.productTable = function (state, pass, index, onSelect) {
    const factors = recap.factors(pass, index);
    const head = h("tr", {}, words.factorNames.map((name, place) => h("th", { scope: "col", title: words.factorMeans[place] || null }, name)));
    const lines = factors.map((item) => h("tr", { class: item.node === index ? "rp-is-now" : "" },
      h("td", {}, h("button", { type: "button", class: "rp-plain", onclick: () => onSelect(item.node) }, recap.token(state.form(item.id)))),
      h("td", {}, recap.number(item.prior, 2)), h("td", {}, recap.number(item.q, 3)), h("td", {}, recap.number(item.score, 5))));
    return h("table", { class: "rp-product", "data-testid": "recap-product" }, h("thead", {}, head), h("tbody", {}, lines));
  };

  function path(state, pass, item) {
    const ids = recap.factors(pass, item.parent).map((factor) => factor.id);
    return [...ids, item.id];
  }

  function list(state, testid, items, onSelect) {
    return h("ol", { class: "rp-next", "data-testid": testid }, items.map((item) =>
      h("li", {}, h("button", { type: "button", class: "rp-plain rp-path", title: words.toParent, onclick: () => onSelect(item.parent) }, item.ids.map((id) => recap.token(state.form(id)))),
        recap.number(item.score, 5))));
  }

  // The deepest node of the tree that a path runs through.
  function lastNode(pass, ids) {
    let at = 0;
    for (const id of ids) {
      const next = pass.nodes.findIndex((node) => node[NODE.parent] === at && node[NODE.token] === id);
      if (next < 0) break;
      at = next;
    }
    return at;
  }

  // While the tree grows, the open paths; afterwards the recorded ones that missed the budget.
  recap.nextInLine = function (state, onSelect) {
    const pass = state.pass;
    const stage = state.stage();
    if (stage.name === "grow") {
      const open = state.run.search ? recap.openPaths(state.run.search, pass, stage.made) : [];
      if (!open.length) return null;
      const shown = open.slice(0, MOST_OPEN).map((item) => ({ ids: path(state, pass, item), score: item.score, parent: item.parent }));
      return h("section", {}, h("h4", {}, words.open(open.length)), list(state, "recap-open", shown, onSelect));
    }
    if (!pass.missed.length) return null;
    const shown = pass.missed.map(([ids, , score]) => ({ ids, score, parent: lastNode(pass, ids) }));
    const lowest = recap.lowestScore(pass);
    return h("section", {}, h("h4", {}, words.missed), lowest === null ? null : h("p", { class: "rp-quiet" }, words.lowest, recap.number(lowest, 5)),
      list(state, "recap-missed", shown, onSelect));
  };

  recap.missedSentence = function (state) {
    const why = recap.whyMissed(state.run.search, state.pass, state.run.rows);
    return why && words.whyMissed[why.kind](why);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
