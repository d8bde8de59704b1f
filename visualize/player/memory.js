// What the pass read from the memories and wrote to them, and how they grew.
(function (recap) {
  "use strict";
  const { h, svg, words, NODE, FOUND, ROW } = recap;
  const MOST_ROWS = 60;
  const MAPS = ["G", "C", "U"];
  // As under the text: colour is not the only sign.
  const DASHES = { G: null, C: "7 4", U: "2 3" };

  function best(state, row) {
    const entry = state.run.rows[row];
    return [recap.token(state.form(entry[ROW.ids][0])), recap.number(entry[ROW.probabilities][0], 2)];
  }

  function key(state, item) {
    return [recap.marker(state.payload.theme, item.map), h("span", { class: "rp-key" }, item.ids.map((id) => recap.token(state.form(id))))];
  }

  function sizes(state, pass, isWritten) {
    const before = state.step > 1 ? state.run.passes[state.step - 2].sizes : state.run.prefill.sizes;
    const counts = isWritten ? pass.sizes : before;
    if (!counts) return null;
    return h("div", { class: "rp-sizes" }, MAPS.map((map, index) =>
      h("div", { class: "rp-size" }, recap.marker(state.payload.theme, map), h("b", {}, map),
        recap.number(counts[index], 0, { "data-testid": `recap-size-${map}` }),
        h("span", { class: "rp-badge" + (map === "U" ? " rp-badge-kept" : "") }, map === "U" ? words.kept_badge : words.request_badge),
        before && isWritten ? h("span", { class: "rp-age" }, words.gained(counts[index] - before[index])) : null)));
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
        MAPS.map((map, index) => svg("polyline", { points: line(index), fill: "none", stroke: `var(--rp-${map})`, "stroke-width": 2, "stroke-dasharray": DASHES[map], "vector-effect": "non-scaling-stroke" }))));
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

  // Whole rows, one beside the other: what was there before, and what is there now.
  function rowTable(state, numbers) {
    const rows = numbers.map((number) => state.run.rows[number]);
    const longest = Math.max(...rows.map((row) => row[ROW.ids].length));
    const head = rows.map((row, place) => h("th", { scope: "col", colspan: 2 }, rows.length > 1 ? words.beforeAfter[place] : "", h("div", { class: "rp-writer" }, recap.writerOf(state, row))));
    const lines = Array.from({ length: longest }, (_, place) => h("tr", {}, rows.map((row) => (place < row[ROW.ids].length
      ? [h("td", {}, recap.token(state.form(row[ROW.ids][place]))), h("td", { class: "rp-cell" }, recap.cell(row[ROW.probabilities][place], 3))] : h("td", { colspan: 2 })))));
    return h("table", { class: "rp-whole" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines),
      h("tfoot", {}, h("tr", {}, rows.map((row) => [h("td", { class: "rp-label" }, words.product[1]), h("td", { class: "rp-cell" }, recap.cell(row[ROW.confidence], 3))]))));
  }

  // One line, which opens to the whole rows; they are made when somebody looks.
  function entry(state, item, tail) {
    const details = h("details", { ontoggle: () => { if (details.open && details.children.length < 2) details.append(rowTable(state, item.old === undefined || item.old === null ? [item.row] : [item.old, item.row])); } },
      h("summary", {}, key(state, item), tail));
    return h("li", {}, details);
  }

  function section(title, testid, items, fits, draw, attributes) {
    const fitting = items.filter(fits);
    const more = fitting.length - MOST_ROWS;
    return h("section", attributes, h("h4", {}, title, ": ", recap.number(items.length, 0, { "data-testid": testid })),
      fitting.length ? h("ul", { class: "rp-rows" }, fitting.slice(0, MOST_ROWS).map(draw)) : h("p", { class: "rp-quiet" }, words.none),
      more > 0 && h("p", { class: "rp-quiet" }, words.more(more)));
  }

  // What U brought along from earlier requests, other pictures' among them.
  recap.carriedNote = (state) => h("p", { class: "rp-quiet", "data-testid": "recap-carried" }, words.carried(...recap.tokensOfU(state.run)));

  recap.memoryPanel = function (state) {
    const pass = state.pass;
    if (!pass || !pass.writes) return h("p", { class: "rp-quiet" }, pass ? words.noTree : words.noPass);
    const written = pass.writes.map(([map, ids, node, row, old]) => ({ map, ids, row, old }));
    const read = rowsRead(pass);
    // Rows are written at the end of the pass: until then the memories are as the pass found them.
    const isWritten = state.stage().name === "write";
    const lists = h("div", {});
    function refresh() {
      // A space is found as it is typed, though tokens show theirs as a dot.
      const plain = (text) => text.toLowerCase().replaceAll("\u00b7", " ");
      const needle = plain(state.needle || "");
      const says = (ids) => plain(ids.map((id) => state.form(id)).join("")).includes(needle);
      const fits = (item) => !needle || says(item.ids) || state.run.rows[item.row][ROW.ids].some((id) => says([id]));
      const alive = recap.memoryAt(state.run, isWritten ? state.step : state.step - 1);
      lists.replaceChildren(...[
        needle && section(words.inMemory, "recap-num-alive", alive, fits, (item) => entry(state, item, [h("span", { class: "rp-new" }, best(state, item.row)), h("span", { class: "rp-age" }, recap.writerOf(state, state.run.rows[item.row]))]), { "data-section": "alive" }),
        isWritten ? section(words.written, "recap-num-written", written, fits, (item) => entry(state, item, [
          item.old === null ? h("span", { class: "rp-badge rp-badge-new" }, words.fresh)
            : h("span", { class: "rp-old", title: words.replaced }, best(state, item.old), h("span", { class: "rp-sign" }, "\u2192")),
          h("span", { class: "rp-new" }, best(state, item.row))]), { "data-section": "written" }) : h("p", { class: "rp-quiet" }, words.notYetWritten),
        section(words.read, "recap-num-read", read, fits, (item) => entry(state, item, [
          h("span", { class: "rp-new" }, best(state, item.row)), h("span", { class: "rp-age" }, words.nodesRead(item.count))]), { "data-section": "read" }),
      ].filter(Boolean));
    }
    const search = h("input", {
      class: "rp-search", type: "search", placeholder: words.search, "aria-label": words.search, value: state.needle || "",
      oninput: (event) => { state.needle = event.target.value; refresh(); },
    });
    refresh();
    return h("div", { class: "rp-memory" }, sizes(state, pass, isWritten), growth(state), search, lists,
      h("p", { class: "rp-quiet" }, words.prefill(state.run.prefill.num_writes)), recap.carriedNote(state));
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
