// The text twin of the tree: a sentence for the pass, one for the chosen node, a table of all nodes.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;
  const COLUMNS = ["", "token", "from", "q", "path score", "target says"];

  recap.tablePanel = function (state, onSelect) {
    const pass = state.pass;
    if (!pass) return h("p", { class: "rp-quiet" }, words.noPass);
    const parts = [h("p", { class: "rp-told" }, pass.sentence)];
    if (pass.nodes) {
      const index = state.node === null ? 0 : state.node;
      const accepted = new Set(pass.accepted);
      parts.push(h("p", { class: "rp-told" }, pass.node_sentences[index]));
      const rows = pass.nodes.map((node, place) => h("tr", {
        class: (accepted.has(place) ? "rp-is-accepted" : "") + (place === index ? " rp-is-selected" : ""), onclick: () => onSelect(place),
      },
        h("td", {}, place), h("td", { style: { "padding-left": `${4 + 7 * node[NODE.depth]}px` } }, recap.token(state.form(node[NODE.token]))),
        h("td", {}, recap.marker(state.payload.theme, node[NODE.source]), " ", node[NODE.source]),
        h("td", {}, recap.number(node[NODE.q], 3)), h("td", {}, recap.number(node[NODE.score], 4)),
        h("td", {}, recap.token(state.form(node[NODE.greedy])))));
      parts.push(h("table", { class: "rp-table" }, h("thead", {}, h("tr", {}, COLUMNS.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows)));
      if (pass.missed.length) {
        parts.push(h("h4", {}, words.missed), h("ol", { class: "rp-missed" }, pass.missed.map(([ids, , score]) =>
          h("li", {}, ids.map((id) => recap.token(state.form(id))), " ", recap.number(score, 5)))));
      }
    }
    return h("div", { class: "rp-twin" }, parts);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
