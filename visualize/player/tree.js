// The candidate tree. Python built the figure; here it is only masked to what the stage and the filters show.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;
  const SELECTED = -2;

  // A copy with the light palette's colours exchanged; only values under keys that hold colours are touched.
  function recoloured(value, exchange, holds) {
    if (Array.isArray(value)) return value.map((item) => recoloured(item, exchange, holds));
    if (value && typeof value === "object") {
      const copy = {};
      for (const key of Object.keys(value)) copy[key] = recoloured(value[key], exchange, key.toLowerCase().includes("color"));
      return copy;
    }
    return holds && typeof value === "string" && value in exchange ? exchange[value] : value;
  }

  function masked(trace, isShown) {
    const { nodes, stride } = trace.meta;
    const kept = nodes.map(isShown);
    const pick = (list) => list.filter((_, index) => kept[Math.floor(index / stride)]);
    const copy = Object.assign({}, trace, { x: pick(trace.x), y: pick(trace.y) });
    for (const key of ["text", "customdata", "hovertext"]) if (Array.isArray(trace[key])) copy[key] = pick(trace[key]);
    if (trace.marker) {
      const { symbol, size, color, line } = trace.marker;
      copy.marker = Object.assign({}, trace.marker, {
        symbol: pick(symbol), size: pick(size), color: pick(color), line: Object.assign({}, line, { color: pick(line.color) }),
      });
      copy.textfont = Object.assign({}, trace.textfont, { color: pick(trace.textfont.color) });
    }
    return copy;
  }

  recap.Tree = class {
    constructor(root, plotly, onSelect) {
      this.plotly = plotly;
      this.onSelect = onSelect;
      this.plot = h("div", { class: "rp-plot" });
      this.message = h("p", { class: "rp-message", hidden: true });
      root.append(this.plot, this.message);
      this.pending = 0;
      this.observer = new ResizeObserver(() => this.last && this.schedule(...this.last));
      this.observer.observe(root);
    }

    // Key presses may come faster than figures are drawn: each is counted, the newest one is drawn.
    schedule(state, themeName) {
      this.last = [state, themeName];
      if (this.pending) return;
      this.pending = requestAnimationFrame(() => { this.pending = 0; this.draw(...this.last); });
    }

    draw(state, themeName) {
      const pass = state.pass;
      const plotly = this.plotly || window.Plotly;
      const missing = !pass ? words.noPass : !pass.tree ? words.noTree : !plotly ? words.noPlotly : null;
      this.message.hidden = !missing;
      this.message.textContent = missing;
      this.plot.classList.toggle("rp-empty", Boolean(missing));
      if (missing) return;
      const palettes = state.payload.theme.palettes;
      const exchange = {};
      for (const role of Object.keys(palettes.light)) exchange[palettes.light[role]] = palettes[themeName][role];
      const data = recoloured(this.traces(state, pass), exchange, false);
      const layout = recoloured(this.layout(state), exchange, false);
      this.fitLabels(state, pass, data, layout);
      const config = { displayModeBar: false, responsive: false, typesetMath: false, doubleClick: "reset" };
      const first = !this.drawn;
      this.drawn = true;
      plotly.react(this.plot, data, layout, config);
      if (first) this.listen();
    }

    listen() {
      this.plot.on("plotly_click", (event) => {
        const index = event.points[0] && event.points[0].customdata;
        if (typeof index === "number" && index >= 0) this.onSelect(index);
      });
      // A reader who zooms in finds room for more and larger labels.
      this.plot.on("plotly_relayout", () => this.schedule(...this.last));
    }

    traces(state, pass) {
      const stage = state.stage();
      const judged = stage.name !== "grow" && stage.name !== "suffix";
      const isMade = (index) => (index === SELECTED ? judged : pass.nodes[index][NODE.pop] <= stage.made);
      const isHidden = (index) => index > 0 && state.hidden.has(pass.nodes[index][NODE.source]);
      const accepted = new Set(pass.accepted);
      const thin = pass.tree.find((trace) => trace.name === "edges").line;
      const background = state.payload.theme.palettes.light.background;
      const data = pass.tree.map((trace) => masked(trace, isMade));
      for (const trace of data) {
        if (trace.name === "accepted path" && !judged) trace.line = thin;
        if (trace.name !== "nodes") continue;
        const dim = stage.name === "commit" ? 0.28 : 1;
        trace.marker.opacity = trace.customdata.map((i) => (isHidden(i) ? 0.08 : i === 0 || accepted.has(i) ? 1 : dim));
        trace.text = trace.text.map((text, place) => (isHidden(trace.customdata[place]) ? "" : text));
        // Before the verdict, no node may look accepted.
        if (!judged) trace.marker.color = trace.marker.color.map((c, place) => (trace.customdata[place] ? background : c));
      }
      if (state.node !== null && isMade(state.node)) data.push(this.ring(state, data));
      return data;
    }

    ring(state, data) {
      const nodes = data.find((trace) => trace.name === "nodes");
      const place = nodes.customdata.indexOf(state.node);
      return {
        type: "scatter", mode: "markers", name: "selection", x: [nodes.x[place]], y: [nodes.y[place]], hoverinfo: "skip", showlegend: false, cliponaxis: false,
        marker: { symbol: "circle-open", size: nodes.marker.size[place] + 11, color: state.payload.theme.palettes.light.accent, line: { width: 2.4 } },
      };
    }

    layout(state) {
      const [columns, rows] = state.run.bounds;
      const base = state.payload.tree_layout;
      const layout = Object.assign({}, base, { width: this.plot.clientWidth || 700, height: this.plot.clientHeight || 360 });
      const ticks = Array.from({ length: columns + 1 }, (_, depth) => depth);
      layout.xaxis = Object.assign({}, base.xaxis, {
        range: [-0.3, columns + 0.85], tickvals: ticks, ticktext: ticks.map((depth) => (depth ? String(depth) : words.root)),
      });
      layout.yaxis = Object.assign({}, base.yaxis, { range: [rows + 0.8, -0.9] });
      layout.margin = { l: 10, r: 6, t: 24, b: 6 };
      // One frame per run: a reader's zoom stays while stepping.
      layout.uirevision = state.run.name;
      return layout;
    }

    // Labels are as large as the rows allow; in very wide trees those of rejected leaves give way.
    fitLabels(state, pass, data, layout) {
      // What the reader zoomed to counts, as long as it is this run's frame.
      const shown = this.plot.layout && this.plot.layout.uirevision === layout.uirevision ? this.plot.layout : layout;
      const pitch = (layout.height - 30) / Math.abs(shown.yaxis.range[0] - shown.yaxis.range[1]);
      const width = (layout.width - 16) / Math.abs(shown.xaxis.range[1] - shown.xaxis.range[0]);
      const size = Math.max(9, Math.min(12, Math.round(pitch * 0.8)));
      const letters = Math.max(3, Math.floor((width - 16) / (size * 0.58)));
      const parents = new Set(pass.nodes.map((node) => node[NODE.parent]));
      const accepted = new Set(pass.accepted);
      const scale = Math.max(0.62, Math.min(1.2, pitch / 15));
      const unescaped = (text) => text.replace(/&#36;/g, "$").replace(/&gt;/g, ">").replace(/&lt;/g, "<").replace(/&amp;/g, "&");
      const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");
      for (const trace of data) {
        if (!trace.text) continue;
        trace.textfont = Object.assign({}, trace.textfont, { size });
        trace.marker.size = trace.marker.size.map((value) => value * scale);
        trace.text = trace.text.map((text, place) => {
          const index = trace.customdata[place];
          if (pitch < 8.5 && index > 0 && !parents.has(index) && !accepted.has(index) && index !== state.node) return "";
          const plain = Array.from(unescaped(text));
          return plain.length > letters ? escaped(plain.slice(0, letters - 1).join("") + "\u2026") : text;
        });
      }
    }

    destroy() {
      cancelAnimationFrame(this.pending);
      this.observer.disconnect();
      if (this.drawn) (this.plotly || window.Plotly).purge(this.plot);
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
