// What each fusion rule would have proposed at the chosen node, from the same rows: computed with the trace, no model.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;
  const counted = new WeakMap();

  // Over the run: at how many places of the text with several rows a rule's first choice, and any of its eight, was right.
  function counts(state) {
    if (counted.has(state.run)) return counted.get(state.run);
    const rules = state.payload.fusion_rules.map(() => ({ first: 0, any: 0 }));
    let places = 0;
    for (const pass of state.run.passes) {
      if (!pass.nodes) continue;
      for (const index of [0, ...pass.accepted].slice(0, pass.committed.length)) {
        const entries = pass.rules[index];
        if (!entries) continue;
        places += 1;
        entries.forEach((entry, rule) => { rules[rule].first += entry[0] === 1; rules[rule].any += entry[0] > 0; });
      }
    }
    const result = { places, rules };
    counted.set(state.run, result);
    return result;
  }

  function choices(state, entry, greedy) {
    return [1, 3, 5].map((place) => h("td", {}, entry[place] === undefined ? null : [
      h("span", { class: entry[place] === greedy ? "rp-is-greedy-form" : "" }, recap.token(state.form(entry[place]))), h("div", {}, recap.cell(entry[place + 1], 3))]));
  }

  recap.rulesPanel = function (state) {
    const pass = state.pass;
    if (!pass || !pass.nodes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const index = state.node === null ? 0 : state.node;
    const node = pass.nodes[index];
    const entries = pass.rules[index];
    const judged = state.isJudged();
    const head = h("h4", { class: "rp-first" }, words.rulesAfter, recap.token(state.form(node[NODE.token])));
    if (!state.run.search) return h("div", { class: "rp-rules" }, h("p", { class: "rp-quiet" }, words.noRules));
    const parts = [head];
    if (!entries) parts.push(h("p", { class: "rp-quiet" }, node[NODE.retrieved].length ? words.oneRow : words.noRows));
    else {
      const columns = h("tr", {}, h("th", {}), words.choices.map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col" }, judged ? words.targetPlace : ""));
      const rows = entries.map((entry, rule) => {
        const name = state.payload.fusion_rules[rule];
        return h("tr", { class: name === state.run.search.fusion ? "rp-is-now" : "", "data-rule": name },
          h("th", { scope: "row", title: words.ruleMeans[name] }, words.rules[name]), entry.length > 1 ? choices(state, entry, judged ? node[NODE.greedy] : null) : h("td", { colspan: 3, class: "rp-quiet" }, words.nothing),
          h("td", { class: "rp-place" }, judged ? (entry[0] ? h("span", { class: "rp-number", "data-value": entry[0] }, words.ordinal(entry[0])) : "\u2013") : null));
      });
      parts.push(h("table", { class: "rp-rule-table", "data-testid": "recap-rule-table" }, h("thead", {}, columns), h("tbody", {}, rows)));
    }
    const { places, rules } = counts(state);
    if (places) {
      parts.push(h("h4", {}, words.rulesOverRun(places)), h("table", { class: "rp-rule-counts", "data-testid": "recap-rule-counts" }, h("tbody", {},
        rules.map((count, rule) => h("tr", { class: state.payload.fusion_rules[rule] === state.run.search.fusion ? "rp-is-now" : "" },
          h("th", { scope: "row" }, words.rules[state.payload.fusion_rules[rule]]),
          h("td", { class: "rp-share" }, h("i", { style: { width: `${(100 * count.any) / places}%` } }), h("b", { style: { width: `${(100 * count.first) / places}%` } })),
          h("td", {}, recap.number(count.first, 0), " / ", recap.number(count.any, 0)))))), h("p", { class: "rp-quiet" }, words.rulesNote));
    }
    return h("div", { class: "rp-rules" }, parts);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
