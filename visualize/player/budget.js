// How many nodes a pass was worth, where the budget follows the cost: in a sentence, and as tokens a second by nodes.
(function (recap) {
  "use strict";
  const { h, svg, words } = recap;
  const WIDTH = 320, HEIGHT = 56, AXIS = 15;
  // Numbers below the curve stand at least so far apart.
  const APART = 36;
  // The paper's budget: what it would have cost is told beside the choice where it was weighed.
  const PAPER_NODES = 63;

  recap.budgetSentence = function ([chosen, curve]) {
    const at = (nodes) => curve.find((point) => point[0] === nodes);
    const other = at(PAPER_NODES) || curve[curve.length - 1];
    return words.budget(at(chosen), other[0] > chosen ? other : null);
  };

  recap.budgetChart = function (budget) {
    const [chosen, curve] = budget;
    const rates = curve.map(([nodes, tokens, seconds]) => [nodes, seconds > 0 ? tokens / seconds : 0]);
    const most = Math.max(...rates.map((point) => point[1])) || 1;
    const last = Math.max(...rates.map((point) => point[0]), chosen) || 1;
    const across = (nodes) => (4 + (nodes / last) * (WIDTH - 8)).toFixed(1);
    const up = (rate) => (HEIGHT - 4 - (rate / most) * (HEIGHT - 10)).toFixed(1);
    const told = recap.budgetSentence(budget);
    const isFree = (nodes) => nodes === chosen || Math.abs(across(nodes) - across(chosen)) > APART;
    const tick = (nodes, anchor) => svg("text", { x: across(nodes), y: HEIGHT + AXIS - 3, "text-anchor": anchor, class: "rp-tick" + (nodes === chosen ? " rp-is-now" : "") }, nodes);
    const ends = [[0, "start"], [last, "end"]].filter(([nodes]) => nodes !== chosen && isFree(nodes));
    const anchor = across(chosen) < APART / 2 ? "start" : across(chosen) > WIDTH - APART / 2 ? "end" : "middle";
    return h("section", { "data-testid": "recap-budget" }, h("p", { class: "rp-budget-told" }, told),
      curve.length > 1 && svg("svg", { class: "rp-budget", viewBox: `0 0 ${WIDTH} ${HEIGHT + AXIS}`, role: "img", "aria-label": told },
        ends.map(([nodes, side]) => tick(nodes, side)), tick(chosen, anchor),
        svg("line", { x1: across(chosen), x2: across(chosen), y1: 0, y2: HEIGHT, class: "rp-now" }),
        svg("polyline", { points: rates.map(([nodes, rate]) => `${across(nodes)},${up(rate)}`).join(" "), fill: "none", stroke: "var(--rp-accent)", "stroke-width": 2 }),
        rates.map(([nodes, rate]) => svg("circle", { cx: across(nodes), cy: up(rate), r: nodes === chosen ? 4 : 2.4, fill: "var(--rp-accent)" },
          svg("title", {}, words.budgetPoint(nodes, rate))))),
      curve.length > 1 && h("p", { class: "rp-quiet" }, words.budgetNote(rates.some(([nodes, rate]) => rate === most && nodes < chosen))));
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
