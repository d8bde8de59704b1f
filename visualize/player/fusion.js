// The panel of the chosen node: why it is here, what the memories said after it, and the mixture that was kept.
(function (recap) {
  "use strict";
  const { h, words, NODE, FOUND, ROW } = recap;

  function bar(share, source) {
    return h("i", { class: "rp-bar", style: { width: `${Math.max(0, Math.min(1, share)) * 100}%`, background: `var(--rp-${source})` } });
  }

  // The number of this request in its stream: the newest that wrote a row.
  function requestNumber(run) {
    return run.rows.reduce((most, row) => Math.max(most, row[ROW.request]), 0);
  }

  function writer(state, found) {
    const row = state.run.rows[found[FOUND.row]];
    if (row[ROW.request] !== requestNumber(state.run)) return words.earlierRequest(row[ROW.request]);
    return row[ROW.pass] === 0 ? words.prefillRow : words.age(found[FOUND.age]);
  }

  // One line a row found: whose it is, and prior x confidence -> weight.
  function foundRows(state, node) {
    const head = h("tr", {}, h("th", {}), words.product.map((name) => h("th", { scope: "col" }, name)));
    const rows = node[NODE.retrieved].map((found) => {
      const source = found[FOUND.source];
      const key = found[FOUND.key].map((id) => recap.token(state.form(id)));
      return h("tr", {},
        h("td", {}, h("div", { class: "rp-found-key" }, recap.marker(state.payload.theme, source), h("b", {}, source), h("span", { class: "rp-key", title: found[FOUND.key].map((id) => state.form(id)).join("") }, key)),
          h("div", { class: "rp-writer" }, writer(state, found))),
        h("td", { class: "rp-factor" }, recap.number(found[FOUND.prior], 3)),
        h("td", { class: "rp-factor" }, recap.number(found[FOUND.confidence], 3)),
        h("td", { class: "rp-factor rp-weighed" }, recap.number(found[FOUND.weight], 3), h("div", { class: "rp-weight" }, bar(found[FOUND.weight], source))));
    });
    return h("table", { class: "rp-found" }, h("thead", {}, head), h("tbody", {}, rows));
  }

  // A line a token: its probability in each row found, and its share of the kept mixture, split by row.
  function mixture(state, node, greedy) {
    const found = node[NODE.retrieved];
    const columns = found.map((item) => state.run.rows[item[FOUND.row]]);
    const kept = new Map(node[NODE.kept].map((entry) => [entry[0], entry]));
    const most = Math.max(...node[NODE.kept].map((entry) => entry[1]), 1e-9);
    const others = columns.flatMap((row) => row[ROW.ids]).filter((id) => !kept.has(id));
    const head = h("tr", {}, h("th", {}), found.map((item) => h("th", { scope: "col", class: "rp-cell" }, item[FOUND.source])), h("th", { scope: "col", colspan: 2 }, words.kept));
    const lines = [...kept.keys(), ...new Set(others)].map((id) => {
      const entry = kept.get(id);
      const cells = columns.map((row) => {
        const place = row[ROW.ids].indexOf(id);
        return h("td", { class: "rp-cell" }, place < 0 ? null : recap.cell(row[ROW.probabilities][place], 2));
      });
      const shares = entry ? entry[2].map((share, place) => bar(share / most, found[place][FOUND.source])) : null;
      return h("tr", { class: (entry ? "" : "rp-is-left") + (id === greedy ? " rp-is-greedy" : ""), title: entry ? null : words.notKept },
        h("td", {}, recap.token(state.form(id))), cells,
        h("td", { class: "rp-kept-bar" }, h("div", { class: "rp-stack" }, shares)), h("td", { class: "rp-q" }, entry ? recap.cell(entry[1], 3) : null));
    });
    const widths = ["28%", ...found.map(() => "38px"), "auto", "44px"].map((width) => h("col", { style: { width } }));
    return h("table", { class: "rp-kept" }, h("colgroup", {}, widths), h("thead", {}, head), h("tbody", {}, lines));
  }

  function heading(state, node, index) {
    const source = node[NODE.source];
    const facts = index === 0 ? words.root : `${words.proposedBy(state.payload.theme.labels[source])} \u00b7 ${words.depth(node[NODE.depth])}`;
    return h("div", { class: "rp-node-head" }, recap.marker(state.payload.theme, source),
      h("span", { class: "rp-node-token" }, recap.token(state.form(node[NODE.token]))), h("span", { class: "rp-node-facts" }, facts));
  }

  // The chain of choices that led here: the score is a product along it.
  function chain(state, pass, index) {
    const places = [];
    for (let at = index; at > 0; at = pass.nodes[at][NODE.parent]) places.unshift(at);
    const links = places.map((at, place) => [place ? h("span", { class: "rp-sign" }, "\u203a") : null,
      h("span", { class: "rp-link" }, recap.token(state.form(pass.nodes[at][NODE.token])), recap.number(pass.nodes[at][NODE.q], 2))]);
    return h("div", { class: "rp-chain" }, links);
  }

  recap.fusionPanel = function (state) {
    const pass = state.pass;
    if (!pass || !pass.nodes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const index = state.node === null ? 0 : state.node;
    const node = pass.nodes[index];
    const judged = !["grow", "suffix"].includes(state.stage().name);
    const parts = [heading(state, node, index)];
    if (index) {
      if (node[NODE.score] !== null) {
        parts.push(h("div", { class: "rp-line" }, h("span", { class: "rp-label" }, "q"), recap.number(node[NODE.q], 4),
          h("span", { class: "rp-label" }, words.path), recap.number(node[NODE.score], 5)));
      }
      parts.push(chain(state, pass, index));
    }
    if (judged) {
      parts.push(h("div", { class: "rp-line" }, h("span", { class: "rp-label" }, words.target), recap.token(state.form(node[NODE.greedy])),
        h("span", { class: "rp-raw" }, recap.number(node[NODE.scores][0], 2), words.against, recap.number(node[NODE.scores][1], 2))));
    }
    if (node[NODE.source] === "suffix") parts.push(h("p", { class: "rp-quiet" }, words.suffixNode));
    else if (!node[NODE.retrieved].length) parts.push(h("p", { class: "rp-quiet" }, words.noRows));
    else {
      parts.push(h("h4", {}, words.after, recap.token(state.form(node[NODE.token]))), foundRows(state, node),
        mixture(state, node, judged ? node[NODE.greedy] : null));
    }
    return h("div", { class: "rp-fusion" }, parts);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
