// The picture lab: where the answer would have gone another way in front of another picture, as the page's model tells.
(function (recap) {
  "use strict";
  const { h, words } = recap;

  // The run that is read again: the last one, RECAP's.
  recap.labRun = (state) => state.payload.runs[state.payload.runs.length - 1].name;

  // The roots that were read again, of the run that is shown; none before an answer.
  const roots = (state) => (state.lab && state.lab.roots && state.run.name === recap.labRun(state) ? state.lab.roots : []);
  const changes = (root) => root.others.some(([form]) => form !== null);

  // Positions of the answer whose token another picture would change.
  recap.labPositions = (state) => new Set(roots(state).filter(changes).map((root) => root.position));

  // What another picture would do to this pass's root: a sentence, null where nothing would change.
  recap.labRoot = function (state) {
    const root = roots(state).find((each) => each.pass === state.step);
    return root && changes(root) ? words.labRoot(...root.others.map(([form]) => form === null ? words.labSame : `\u201c${form}\u201d`)) : null;
  };

  // Falls of less than a hundredth are noise of the arithmetic, in either direction.
  function cell([form, fall]) {
    const shown = Math.abs(fall) < 0.005 ? null : h("span", { class: "rp-number rp-fate", "data-value": fall, title: String(fall) }, fall.toFixed(2));
    return h("td", {}, form === null ? h("span", { class: "rp-fate" }, words.labSame) : recap.token(form), " ", shown);
  }

  function table(state, player) {
    const rows = roots(state).map((root) => h("tr", { class: root.pass === state.step ? "rp-is-selected" : "", "data-pass": root.pass, onclick: () => player.goTo({ step: root.pass, node: 0 }) },
      h("td", {}, h("button", { type: "button", class: "rp-plain" }, root.pass)), h("td", {}, recap.token(state.form(state.run.text[root.position][recap.SPAN.token]))), root.others.map(cell)));
    return h("table", { class: "rp-table", "data-testid": "recap-lab-roots" }, h("thead", {}, h("tr", {}, words.labColumns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, rows));
  }

  recap.labPanel = function (state, _, player) {
    const told = state.lab || { kind: "idle", sentence: "" };
    const isRunning = told.kind === "running";
    const { ask, stop } = player.options.lab;
    const button = h("button", { type: "button", class: "rp-strong", "data-testid": isRunning ? "recap-lab-stop" : "recap-lab-ask", onclick: isRunning ? stop : ask }, isRunning ? words.labStop : words.labAsk);
    return h("div", { class: "rp-lab" }, told.roots ? null : h("p", { class: "rp-told" }, words.lab),
      told.sentence && h("p", { class: told.kind === "error" ? "rp-note-box" : "rp-told", role: told.kind === "error" ? "alert" : "status", "data-testid": "recap-lab-told" }, told.sentence),
      told.roots ? [h("p", { class: "rp-quiet" }, words.labNote), table(state, player), recap.carriedNote(state)] : button);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
