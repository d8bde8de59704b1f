// The panel of the chosen node: why it is here, what the memories said after it, and the mixture that was kept.
(function (recap) {
  "use strict";
  const { h, words, NODE, FOUND, ROW } = recap;

  function bar(share, source) {
    return h("i", { class: "rp-bar", style: { width: `${Math.max(0, Math.min(1, share)) * 100}%`, background: `var(--rp-${source})` } });
  }

  function writer(state, row, found) {
    const here = state.run.rows[row];
    if (found[FOUND.source] === "U" && here[ROW.pass] === 0 && found[FOUND.age] > 0 && here[ROW.request] === requestNumber(state)) return words.prefillRow;
    if (here[ROW.request] !== requestNumber(state)) return words.earlierRequest(here[ROW.request]);
    return words.age(found[FOUND.age]);
  }

  // The request's number in its stream is the newest one that wrote a row.
  function requestNumber(state) {
    if (state.run !== requestNumber.run) {
      requestNumber.run = state.run;
      requestNumber.value = state.run.rows.reduce((most, row) => Math.max(most, row[ROW.request]), 0);
    }
    return requestNumber.value;
  }

  function foundRow(state, found) {
    const source = found[FOUND.source];
    const row = state.run.rows[found[FOUND.row]];
    const key = found[FOUND.key].map((id) => state.form(id));
    const values = [found[FOUND.prior], found[FOUND.confidence], found[FOUND.weight]];
    const numbers = values.map((value, place) => h("div", { class: "rp-factor" },
      h("span", { class: "rp-factor-name" }, words.product[place]), recap.number(value, 3)));
    const guesses = row[ROW.ids].map((id, place) => h("span", { class: "rp-guess" },
      recap.token(state.form(id)), recap.number(row[ROW.probabilities][place], 2)));
    return h("div", { class: "rp-found" },
      h("div", { class: "rp-found-head" }, recap.marker(state.payload.theme, source), h("b", {}, source),
        h("span", { class: "rp-key" }, key.map((form) => recap.token(form))), h("span", { class: "rp-age" }, writer(state, found[FOUND.row], found))),
      h("div", { class: "rp-product" }, numbers[0], h("span", { class: "rp-sign" }, "\u00d7"), numbers[1], h("span", { class: "rp-sign" }, "\u2192"), numbers[2],
        h("div", { class: "rp-weight" }, bar(found[FOUND.weight], source))),
      h("div", { class: "rp-guesses" }, guesses));
  }

  function keptRow(state, node, entry, most, greedy) {
    const [id, q, shares] = entry;
    const parts = shares.map((share, place) => bar(share / most, node[NODE.retrieved][place][FOUND.source]));
    return h("tr", { class: id === greedy ? "rp-is-greedy" : null },
      h("td", {}, recap.token(state.form(id))), h("td", { class: "rp-kept-bar" }, h("div", { class: "rp-stack" }, parts)),
      h("td", {}, recap.number(q, 3)));
  }

  function heading(state, pass, index) {
    const node = pass.nodes[index];
    const source = node[NODE.source];
    const label = state.payload.theme.labels[source];
    const facts = [index === 0 ? words.root : words.proposedBy(label)];
    if (index) facts.push(words.depth(node[NODE.depth]));
    return h("div", { class: "rp-node-head" }, recap.marker(state.payload.theme, source), h("span", { class: "rp-node-token" }, recap.token(state.form(node[NODE.token]))),
      h("span", { class: "rp-node-facts" }, facts.join(" \u00b7 ")));
  }

  // The chain of choices that led here: the score is a product along it.
  function path(state, pass, index) {
    const chain = [];
    for (let at = index; at > 0; at = pass.nodes[at][NODE.parent]) chain.unshift(at);
    return h("div", { class: "rp-chain" }, chain.map((at, place) => [place ? h("span", { class: "rp-sign" }, "\u203a") : null,
      h("span", { class: "rp-link" }, recap.token(state.form(pass.nodes[at][NODE.token])), recap.number(pass.nodes[at][NODE.q], 2))]));
  }

  recap.fusionPanel = function (state) {
    const pass = state.pass;
    if (!pass || !pass.nodes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const index = state.node === null ? 0 : state.node;
    const node = pass.nodes[index];
    const stage = state.stage().name;
    const judged = stage !== "grow" && stage !== "suffix";
    const parts = [heading(state, pass, index)];
    if (index) {
      if (node[NODE.score] !== null) parts.push(h("div", { class: "rp-line" }, h("span", { class: "rp-label" }, "q"), recap.number(node[NODE.q], 4), h("span", { class: "rp-label" }, words.path), recap.number(node[NODE.score], 5)));
      parts.push(path(state, pass, index));
    }
    if (judged) {
      parts.push(h("div", { class: "rp-line" }, h("span", { class: "rp-label" }, words.target), recap.token(state.form(node[NODE.greedy])),
        h("span", { class: "rp-raw" }, recap.number(node[NODE.scores][0], 2), " against ", recap.number(node[NODE.scores][1], 2))));
    }
    if (node[NODE.source] === "suffix") parts.push(h("p", { class: "rp-quiet" }, words.suffixNode));
    else if (!node[NODE.retrieved].length) parts.push(h("p", { class: "rp-quiet" }, words.noRows));
    else {
      const kept = node[NODE.kept];
      const most = Math.max(...kept.map((entry) => entry[1]), 1e-9);
      parts.push(h("h4", {}, words.after(state.form(node[NODE.token]))));
      parts.push(node[NODE.retrieved].map((found) => foundRow(state, found)));
      parts.push(h("h4", {}, words.kept));
      parts.push(h("table", { class: "rp-kept" }, h("tbody", {}, kept.map((entry) => keptRow(state, node, entry, most, judged ? node[NODE.greedy] : null)))));
    }
    return h("div", { class: "rp-fusion" }, parts);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
