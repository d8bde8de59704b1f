// What the pass read from the memories and wrote to them, and how they grew.
(function (recap) {
  "use strict";
  const { h, svg, words, NODE, FOUND, ROW } = recap;
  const MOST_ROWS = 60;

  function best(state, row) {
    const entry = state.run.rows[row];
    return [recap.token(state.form(entry[ROW.ids][0])), recap.number(entry[ROW.probabilities][0], 2)];
  }

  function key(state, map, ids) {
    return [recap.marker(state.payload.theme, map), h("span", { class: "rp-key" }, ids.map((id) => recap.token(state.form(id))))];
  }

  function growth(state) {
    const points = [state.run.prefill.sizes, ...state.run.passes.map((pass) => pass.sizes)].map((sizes, index) => [index, sizes]).filter((item) => item[1]);
    if (points.length < 2) return null;
    const width = 320, height = 56;
    const most = Math.max(...points.map((item) => Math.max(...item[1])), 1);
    const last = points[points.length - 1][0] || 1;
    const line = (map) => points.map(([index, sizes]) => `${((index / last) * width).toFixed(1)},${(height - 2 - (sizes[map] / most) * (height - 6)).toFixed(1)}`).join(" ");
    const here = ((state.step / last) * width).toFixed(1);
    return h("div", { class: "rp-growth" }, h("h4", {}, words.growth),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words.growth },
        svg("line", { x1: here, x2: here, y1: 0, y2: height, class: "rp-now" }),
        ["G", "C", "U"].map((map, index) => svg("polyline", { points: line(index), fill: "none", stroke: `var(--rp-${map})`, "stroke-width": 2, "vector-effect": "non-scaling-stroke" }))));
  }

  function reads(state, pass) {
    const rows = new Map();
    for (const node of pass.nodes) {
      for (const found of node[NODE.retrieved]) {
        const name = `${found[FOUND.source]}/${found[FOUND.row]}`;
        if (!rows.has(name)) rows.set(name, { found, count: 0 });
        rows.get(name).count += 1;
      }
    }
    return Array.from(rows.values()).sort((a, b) => b.count - a.count);
  }

  recap.memoryPanel = function (state) {
    const pass = state.pass;
    if (!pass || !pass.writes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const sizes = pass.sizes;
    const theme = state.payload.theme;
    const counts = sizes && h("div", { class: "rp-sizes" }, ["G", "C", "U"].map((map, index) =>
      h("div", { class: "rp-size" }, recap.marker(theme, map), h("b", {}, map), recap.number(sizes[index], 0),
        h("span", { class: "rp-badge" + (map === "U" ? " rp-badge-kept" : "") }, map === "U" ? words.kept_badge : words.request_badge))));
    const needle = (state.needle || "").toLowerCase();
    const matches = (ids) => !needle || ids.map((id) => state.form(id)).join("").toLowerCase().includes(needle);
    const list = (title, testid, count, items, draw) => {
      const fitting = items.filter((item) => matches(item.ids));
      const more = fitting.length - MOST_ROWS;
      return h("section", {}, h("h4", {}, title, " ", recap.number(count, 0, { "data-testid": testid })),
        fitting.length ? h("ul", { class: "rp-rows" }, fitting.slice(0, MOST_ROWS).map(draw)) : h("p", { class: "rp-quiet" }, words.none),
        more > 0 && h("p", { class: "rp-quiet" }, words.more(more)));
    };
    const written = pass.writes.map(([map, ids, node, row, old]) => ({ map, ids, node, row, old }));
    const read = reads(state, pass).map(({ found, count }) => ({ map: found[FOUND.source], ids: found[FOUND.key], row: found[FOUND.row], count }));
    const search = h("input", {
      class: "rp-search", type: "search", placeholder: words.search, "aria-label": words.search, value: state.needle || "",
      oninput: (event) => { state.needle = event.target.value; refresh(); },
    });
    const body = h("div", {});
    function refresh() {
      const needleNow = (state.needle || "").toLowerCase();
      body.replaceChildren(...sections(needleNow));
    }
    function sections(text) {
      const fits = (item) => !text || item.ids.map((id) => state.form(id)).join("").toLowerCase().includes(text);
      return [
        list(words.written, "recap-num-written", written.length, written.filter(fits), (item) => h("li", {}, key(state, item.map, item.ids),
          item.old === null ? h("span", { class: "rp-badge rp-badge-new" }, words.fresh) : [h("span", { class: "rp-old" }, best(state, item.old)), h("span", { class: "rp-sign" }, "\u2192")],
          h("span", { class: "rp-new" }, best(state, item.row)))),
        list(words.read, "recap-num-read", read.length, read.filter(fits), (item) => h("li", {}, key(state, item.map, item.ids),
          h("span", { class: "rp-new" }, best(state, item.row)), h("span", { class: "rp-age" }, words.nodesRead(item.count)))),
      ];
    }
    refresh();
    return h("div", { class: "rp-memory" }, counts, growth(state), search, body, h("p", { class: "rp-quiet" }, words.prefill(state.run.prefill.num_writes)));
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
