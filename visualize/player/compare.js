// Two to four runs of one prompt side by side: their numbers, whether their texts agree, and who wrote what when.
(function (recap) {
  "use strict";
  const { h, words, SPAN } = recap;

  // A run's name that may break behind its signs, and so is read whole in a narrow column.
  const breakable = (run) => recap.runLabel(run).split(/(?<=[-_.:@/])/).flatMap((part, place) => (place ? [h("wbr"), part] : [part]));

  function toggles(state, act) {
    const shown = state.comparedRuns();
    return h("div", { class: "rp-toggles", role: "group", "aria-label": words.chooseRuns }, state.payload.runs.map((run) => {
      const isShown = shown.includes(run);
      const fixed = run === state.run || (!isShown && shown.length >= recap.MOST_COMPARED);
      return h("button", { type: "button", class: "rp-toggle", "aria-pressed": isShown ? "true" : "false", disabled: fixed, "data-run": run.name, onclick: () => act.toggleRun(run.name) }, breakable(run));
    }));
  }

  function figures(state, act) {
    const head = h("tr", {}, h("th", {}), words.compareColumns.map((name) => h("th", { scope: "col" }, name)));
    const rows = state.comparedRuns().map((run) => {
      const totals = run.totals;
      return h("tr", { class: run === state.run ? "rp-is-now" : "", "data-run": run.name },
        h("th", { scope: "row" }, h("button", { type: "button", class: "rp-plain", onclick: () => act.switchRun(run) }, breakable(run))),
        h("td", {}, run.is_reference ? recap.number(1, 2) : recap.number(totals.speedup, 2)), h("td", {}, recap.number(totals.acceptance_length, 2)),
        h("td", {}, recap.number(totals.num_passes, 0)), h("td", {}, h("span", { class: "rp-number", "data-value": totals.seconds, title: `${totals.seconds} s` }, recap.seconds(totals.seconds))));
    });
    return h("table", { class: "rp-compare-table", "data-testid": "recap-compare-table" }, h("thead", {}, head), h("tbody", {}, rows));
  }

  function side(state, name, choice) {
    if (choice.token === null) return h("li", {}, words.ended(name));
    return h("li", {}, h("b", {}, name), " ", recap.token(state.form(choice.token)),
      choice.scores && [" ", recap.number(choice.scores[0], 4), words.against, recap.number(choice.scores[1], 4)]);
  }

  // The exactness panel: the same text, or where it parts, with both scores and the gap.
  function exactness(state, run) {
    const { exactness: told, name } = run;
    if (!told) return run.is_reference ? null : h("p", { class: "rp-exact" }, h("b", {}, name), " ", words.notCompared);
    const { difference, num_equal: equal, precisions } = told;
    const testid = { class: "rp-exact", "data-testid": "recap-exactness", "data-run": name };
    if (!difference) return h("div", testid, h("p", {}, h("span", { class: "rp-chip rp-good" }, words.sameText), " ", h("b", {}, name)), h("p", { class: "rp-quiet" }, words.allEqual(equal, precisions)));
    return h("div", testid, h("p", {}, h("span", { class: "rp-chip rp-warn" }, words.differs(difference.index + 1, null)), " ", h("b", {}, name)),
      h("ul", {}, side(state, name, difference.ours), side(state, words.plainLane, difference.theirs)),
      h("p", { class: "rp-quiet" }, words.gap, recap.number(difference.gap, 5), ". ", words.whyDiffers(precisions)));
  }

  // Output positions in lines that fit: every run's cell of a position stands under the position's token.
  function lines(state, runs, width) {
    const longest = Math.max(...runs.map((run) => run.text.length));
    const token = (run, position) => run.text[position] && run.text[position][SPAN.token];
    const letters = (position) => Math.max(...runs.map((run) => (run.text[position] ? Array.from(state.form(token(run, position))).length : 0)));
    // Where the texts part, a token stands behind its marker.
    const marker = (position) => (runs.some((run) => token(run, position) !== token(runs[0], position)) ? 12 : 0);
    const result = [];
    let line = [], used = 0;
    for (let position = 0; position < longest; position += 1) {
      const cell = Math.max(18, letters(position) * 7.3 + 7 + marker(position));
      if (line.length && used + cell > width) { result.push(line); line = []; used = 0; }
      line.push(position);
      used += cell;
    }
    if (line.length) result.push(line);
    return result;
  }

  function cell(state, run, position, reference, act, cells) {
    const span = run.text[position];
    if (!span) return h("td", { class: "rp-gone" });
    const previous = run.text[position - 1], next = run.text[position + 1];
    const other = reference.text[position];
    const differs = !other || other[SPAN.token] !== span[SPAN.token];
    const ends = [(!previous || previous[SPAN.pass] !== span[SPAN.pass]) && "rp-starts", (!next || next[SPAN.pass] !== span[SPAN.pass]) && "rp-ends"].filter(Boolean);
    const mark = h("i", { class: ["rp-unit", `rp-unit-${span[SPAN.proposer]}`, ...ends, differs ? "rp-differs" : ""].join(" ") }, recap.marker(state.payload.theme, span[SPAN.proposer]), differs ? state.form(span[SPAN.token]) : null);
    const item = h("td", {
      title: words.cell(run.name, span[SPAN.pass], state.payload.theme.keys[span[SPAN.proposer]], position + 1), "data-position": position, "data-pass": span[SPAN.pass],
      onclick: () => act.goTo({ run: run.name, step: Math.max(1, span[SPAN.pass]), node: span[SPAN.node] }),
    }, mark);
    cells.push({ item, run, span });
    return item;
  }

  recap.Compare = class {
    constructor(root, act) { this.root = root; this.act = act; }

    build(state) {
      const runs = state.comparedRuns();
      const reference = runs.find((run) => run.is_reference) || runs[0];
      this.cells = [];
      const width = Math.max(120, (this.root.clientWidth || 1240) - (this.root.clientWidth > 900 ? 490 : 118));
      const tables = lines(state, runs, width).map((line) => h("table", { class: "rp-line-table" }, h("tbody", {},
        h("tr", { class: "rp-line-text" }, h("th", {}), line.map((position) => h("td", {}, reference.text[position] ? h("bdi", {}, state.form(reference.text[position][SPAN.token])) : null))),
        runs.map((run) => h("tr", { class: run === state.run ? "rp-is-now" : "" }, h("th", { scope: "row", title: run.name }, breakable(run)), line.map((position) => cell(state, run, position, reference, this.act, this.cells)))))));
      const scroll = this.root.querySelector(".rp-aligned");
      const top = scroll ? scroll.scrollTop : 0;
      const aligned = h("div", { class: "rp-aligned", tabindex: "0", role: "region", "aria-label": words.aligned, "data-testid": "recap-aligned" }, tables);
      this.root.replaceChildren(
        h("div", { class: "rp-compare-side" }, h("h3", {}, words.compareTitle), toggles(state, this.act), figures(state, this.act), h("h4", {}, words.exactness), runs.map((run) => exactness(state, run)),
          h("div", { class: "rp-legend rp-still" }, ["G", "C", "U", "suffix", "target"].map((source) => h("span", { class: "rp-source rp-fixed" }, recap.marker(state.payload.theme, source), state.payload.theme.keys[source]))),
          h("p", { class: "rp-quiet" }, words.compareHelp)), aligned);
      aligned.scrollTop = top;
    }

    // Only what the clock has reached is drawn in full; the pass that is shown stands out.
    update(state) {
      const now = recap.clockOf(state);
      let last = null;
      for (const { item, run, span } of this.cells) {
        const reached = run === state.run ? state.isShown(span) : run.ends[span[SPAN.pass]] <= now + 1e-12;
        item.classList.toggle("rp-later", !reached);
        const isNow = run === state.run && span[SPAN.pass] === state.step;
        item.classList.toggle("rp-is-pass", isNow);
        if (isNow && !last) last = item;
      }
      if (last) last.scrollIntoView({ block: "nearest" });
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
