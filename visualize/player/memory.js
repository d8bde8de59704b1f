// What the pass read from the memories and wrote to them, and how they grew.
(function (recap) {
  "use strict";
  const { h, svg, words, NODE, FOUND, ROW } = recap;
  const MOST_ROWS = 60;
  const MAPS = ["G", "C", "U"];

  function best(state, row) {
    const entry = state.run.rows[row];
    return [recap.token(state.form(entry[ROW.ids][0])), recap.number(entry[ROW.probabilities][0], 2)];
  }

  function key(state, item) {
    return [recap.marker(state.payload.theme, item.map), h("span", { class: "rp-key" }, item.ids.map((id) => recap.token(state.form(id))))];
  }

  function sizes(state, pass) {
    if (!pass.sizes) return null;
    return h("div", { class: "rp-sizes" }, MAPS.map((map, index) =>
      h("div", { class: "rp-size" }, recap.marker(state.payload.theme, map), h("b", {}, map),
        recap.number(pass.sizes[index], 0, { "data-testid": `recap-size-${map}` }),
        h("span", { class: "rp-badge" + (map === "U" ? " rp-badge-kept" : "") }, map === "U" ? words.kept_badge : words.request_badge))));
  }

  function growth(state) {
    const all = [state.run.prefill.sizes, ...state.run.passes.map((pass) => pass.sizes)];
    const points = all.map((counts, index) => [index, counts]).filter((item) => item[1]);
    if (points.length < 2) return null;
    const width = 320, height = 48;
    const most = Math.max(...points.map((item) => Math.max(...item[1])), 1);
    const last = points[points.length - 1][0] || 1;
    const across = (index) => ((index / last) * width).toFixed(1);
    const line = (map) => points.map(([index, counts]) => `${across(index)},${(height - 2 - (counts[map] / most) * (height - 6)).toFixed(1)}`).join(" ");
    return h("div", { class: "rp-growth" }, h("h4", {}, words.growth),
      svg("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": words.growth },
        svg("line", { x1: across(state.step), x2: across(state.step), y1: 0, y2: height, class: "rp-now" }),
        MAPS.map((map, index) => svg("polyline", { points: line(index), fill: "none", stroke: `var(--rp-${map})`, "stroke-width": 2, "vector-effect": "non-scaling-stroke" }))));
  }

  function rowsRead(pass) {
    const rows = new Map();
    for (const node of pass.nodes) {
      for (const found of node[NODE.retrieved]) {
        const name = `${found[FOUND.source]}/${found[FOUND.row]}`;
        if (!rows.has(name)) rows.set(name, { map: found[FOUND.source], ids: found[FOUND.key], row: found[FOUND.row], count: 0 });
        rows.get(name).count += 1;
      }
    }
    return Array.from(rows.values()).sort((a, b) => b.count - a.count);
  }

  function section(title, testid, items, fits, draw) {
    const fitting = items.filter(fits);
    const more = fitting.length - MOST_ROWS;
    return h("section", {}, h("h4", {}, title, " ", recap.number(items.length, 0, { "data-testid": testid })),
      fitting.length ? h("ul", { class: "rp-rows" }, fitting.slice(0, MOST_ROWS).map((item) => h("li", {}, draw(item)))) : h("p", { class: "rp-quiet" }, words.none),
      more > 0 && h("p", { class: "rp-quiet" }, words.more(more)));
  }

  recap.memoryPanel = function (state) {
    const pass = state.pass;
    if (!pass || !pass.writes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const written = pass.writes.map(([map, ids, node, row, old]) => ({ map, ids, row, old }));
    const read = rowsRead(pass);
    const lists = h("div", {});
    function refresh() {
      const needle = (state.needle || "").toLowerCase();
      const fits = (item) => !needle || item.ids.map((id) => state.form(id)).join("").toLowerCase().includes(needle);
      lists.replaceChildren(
        section(words.written, "recap-num-written", written, fits, (item) => [key(state, item),
          item.old === null ? h("span", { class: "rp-badge rp-badge-new" }, words.fresh)
            : h("span", { class: "rp-old", title: words.replaced }, best(state, item.old), h("span", { class: "rp-sign" }, "\u2192")),
          h("span", { class: "rp-new" }, best(state, item.row))]),
        section(words.read, "recap-num-read", read, fits, (item) => [key(state, item),
          h("span", { class: "rp-new" }, best(state, item.row)), h("span", { class: "rp-age" }, words.nodesRead(item.count))]));
    }
    const search = h("input", {
      class: "rp-search", type: "search", placeholder: words.search, "aria-label": words.search, value: state.needle || "",
      oninput: (event) => { state.needle = event.target.value; refresh(); },
    });
    refresh();
    return h("div", { class: "rp-memory" }, sizes(state, pass), growth(state), search, lists,
      h("p", { class: "rp-quiet" }, words.prefill(state.run.prefill.num_writes)));
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
