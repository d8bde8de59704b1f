// The text twin of the tree: a sentence for the pass, one for the chosen node, a table of all nodes.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;

  recap.tablePanel = function (state, onSelect) {
    const pass = state.pass;
    if (!pass) return h("p", { class: "rp-quiet" }, words.noPass);
    const judged = state.isJudged();
    const { made } = state.stage();
    const parts = [h("p", { class: "rp-told" }, recap.stageSentence(state))];
    if (pass.nodes) {
      const index = state.node === null ? 0 : state.node;
      const accepted = new Set(pass.accepted);
      if (pass.budget) parts.push(h("p", { class: "rp-told" }, recap.budgetSentence(pass.budget)));
      if (judged) parts.push(h("p", { class: "rp-told" }, pass.node_sentences[index]));
      const rows = pass.nodes.map((node, place) => (node[NODE.pop] > made ? null : h("tr", {
        class: (judged && accepted.has(place) ? "rp-is-accepted" : "") + (place === index ? " rp-is-selected" : ""), onclick: () => onSelect(place),
      },
        h("td", {}, place), h("td", { style: { "padding-left": `${2 + 3 * node[NODE.depth]}px` } }, recap.token(state.form(node[NODE.token]))),
        h("td", {}, recap.marker(state.payload.theme, node[NODE.source]), " ", node[NODE.source]),
        h("td", {}, recap.number(node[NODE.q], 3)), h("td", {}, recap.number(node[NODE.score], 4)),
        h("td", {}, judged ? recap.token(state.form(node[NODE.greedy])) : null))));
      parts.push(h("table", { class: "rp-table" }, h("thead", {}, h("tr", {}, words.tableColumns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)));
      parts.push(recap.nextInLine(state, onSelect));
    }
    return h("div", { class: "rp-twin" }, parts);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
