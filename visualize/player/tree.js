// The candidate tree. Python built the figure; here it is only masked to what the stage and the filters show.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;
  const SELECTED = -2;
  // Rows of a frame: few sizes, so that the picture seldom changes its scale and small trees are large enough to read.
  const FRAMES = [6, 10, 15, 20, 26, 33];

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

  // The same trace with the slots that its nodes have before the verdict: the points of an edge keep their share of the
  // way from its parent's slot to its own.
  function inSlots(trace, slots, nodes) {
    const { stride } = trace.meta;
    const y = trace.y.map((value, place) => {
      const index = trace.meta.nodes[Math.floor(place / stride)];
      if (value === null || index === SELECTED) return value;
      if (stride === 1) return slots[index];
      const first = place - (place % stride);
      const [start, end] = [trace.y[first], trace.y[first + stride - 2]];
      const [above, own] = [slots[nodes[index][NODE.parent]], slots[index]];
      return start === end ? own : above + ((value - start) / (end - start)) * (own - above);
    });
    return Object.assign({}, trace, { y });
  }

  recap.Tree = class {
    // `plotly`: the library, a promise of it, or nothing where the page has loaded it.
    constructor(root, plotly, onSelect) {
      this.isAwaited = Boolean(plotly && plotly.then);
      this.plotly = this.isAwaited ? null : plotly;
      if (this.isAwaited) this.ready = plotly.catch(() => null).then((library) => { this.isAwaited = false; this.plotly = library; if (this.last) this.schedule(...this.last); });
      this.onSelect = onSelect;
      this.plot = h("div", { class: "rp-plot" });
      this.message = h("p", { class: "rp-message", hidden: true });
      root.append(this.plot, this.message);
      this.pending = 0;
      this.zoom = null;
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
      if (!this.plot.parentElement.clientWidth) return;
      const missing = !pass ? words.noPass : !pass.tree ? words.noTree : !this.library() ? (this.isAwaited ? words.treeComes : words.noPlotly) : null;
      this.message.hidden = !missing;
      this.message.textContent = missing;
      this.plot.classList.toggle("rp-empty", Boolean(missing));
      if (missing) return;
      if (this.run !== state.run.name) { this.run = state.run.name; this.zoom = null; }
      this.themeName = themeName;
      const { data, layout } = this.figure(state);
      const config = { displayModeBar: false, responsive: false, typesetMath: false, doubleClick: false };
      const first = !this.drawn;
      this.drawn = true;
      this.library().react(this.plot, data, layout, config);
      if (first) this.listen();
    }

    library() { return this.plotly || window.Plotly; }
    background(state) { return state.payload.theme.palettes[this.themeName].background; }

    // What is shown now, in the colours of the theme.
    figure(state) {
      const exchange = recap.exchange(state.payload.theme.palettes, this.themeName);
      const data = recap.recoloured(this.traces(state, state.pass), exchange);
      const layout = recap.recoloured(this.layout(state), exchange);
      recap.fitLabels(state, data, layout);
      return { data, layout };
    }

    listen() {
      this.plot.on("plotly_click", (event) => {
        const index = event.points[0] && event.points[0].customdata;
        if (typeof index === "number" && index >= 0) this.onSelect(index);
      });
      // A reader who zooms in finds room for more and larger labels, and keeps the frame while stepping.
      this.plot.on("plotly_relayout", (change) => {
        const read = (axis) => [change[`${axis}.range[0]`], change[`${axis}.range[1]`]];
        const current = this.plot.layout;
        if ("xaxis.range[0]" in change || "yaxis.range[0]" in change) {
          this.zoom = { x: "xaxis.range[0]" in change ? read("xaxis") : current.xaxis.range.slice(), y: "yaxis.range[0]" in change ? read("yaxis") : current.yaxis.range.slice() };
        }
        this.schedule(...this.last);
      });
      this.plot.on("plotly_doubleclick", () => { this.zoom = null; this.schedule(...this.last); });
    }

    traces(state, pass) {
      const stage = state.stage();
      const judged = state.isJudged();
      const isMade = (index) => (index === SELECTED ? judged : pass.nodes[index][NODE.pop] <= stage.made);
      const isHidden = (index) => index > 0 && state.hidden.has(pass.nodes[index][NODE.source]);
      const accepted = new Set(pass.accepted);
      const thin = pass.tree.find((trace) => trace.name === "edges").line;
      const { background, muted } = state.payload.theme.palettes.light;
      const figure = judged ? pass.tree : pass.tree.map((trace) => inSlots(trace, pass.slots_before_verdict, pass.nodes));
      const data = figure.map((trace) => masked(trace, isMade));
      for (const trace of data) {
        if (trace.name === "accepted path" && !judged) trace.line = thin;
        if (trace.name !== "nodes") continue;
        const dim = stage.name === "commit" ? 0.28 : 1;
        trace.marker.opacity = trace.customdata.map((i) => (isHidden(i) ? 0.08 : i === 0 || accepted.has(i) ? 1 : dim));
        trace.text = trace.text.map((text, place) => (isHidden(trace.customdata[place]) ? "" : text));
        // Before the verdict, no node may look accepted.
        if (!judged) {
          trace.marker.color = trace.marker.color.map((c, place) => (trace.customdata[place] ? background : c));
          trace.textfont.color = trace.textfont.color.map((c, place) => (trace.customdata[place] ? muted : c));
        }
      }
      if (state.node !== null && isMade(state.node)) data.push(this.ring(state, data));
      const owed = recap.labRoot(state);
      if (owed) data.push(this.square(state, data, owed));
      return data;
    }

    ring(state, data) {
      const nodes = data.find((trace) => trace.name === "nodes");
      const place = nodes.customdata.indexOf(state.node);
      return {
        type: "scatter", mode: "markers", name: "selection", x: [nodes.x[place]], y: [nodes.y[place]], hoverinfo: "skip", showlegend: false, cliponaxis: false,
        marker: { symbol: "circle-open", size: nodes.marker.size[place], color: state.payload.theme.palettes.light.accent, line: { width: 2.4 } },
      };
    }

    // The root whose choice another picture would change.
    square(state, data, sentence) {
      const nodes = data.find((trace) => trace.name === "nodes");
      return {
        type: "scatter", mode: "markers", name: "owes to the picture", x: [nodes.x[0]], y: [nodes.y[0]], hovertext: [recap.escaped(sentence)], hovertemplate: "%{hovertext}<extra></extra>", customdata: [0], showlegend: false, cliponaxis: false,
        marker: { symbol: "square-open", size: nodes.marker.size[0], color: state.payload.theme.palettes.light.suffix, line: { width: 2.4 } },
      };
    }

    layout(state) {
      const [columns, most] = state.run.bounds;
      const lowest = Math.max(...state.pass.tree.flatMap((trace) => trace.y.filter((y) => y !== null)));
      const rows = Math.min(most, FRAMES.find((size) => size >= lowest) || most);
      const base = state.payload.tree_layout;
      const layout = Object.assign({}, base, { width: this.plot.clientWidth || 700, height: this.plot.clientHeight || 360 });
      const ticks = Array.from({ length: columns + 1 }, (_, depth) => depth);
      layout.xaxis = Object.assign({}, base.xaxis, {
        tickfont: Object.assign({}, base.xaxis.tickfont, { size: state.isPresenting ? 14 : 11 }),
        range: this.zoom ? this.zoom.x : [-0.3, columns + 0.85], tickvals: ticks, ticktext: ticks.map((depth) => (depth ? String(depth) : words.root)),
      });
      layout.yaxis = Object.assign({}, base.yaxis, { range: this.zoom ? this.zoom.y : [rows + 0.8, -0.9] });
      layout.margin = { l: 10, r: 6, t: 24, b: 6 };
      return layout;
    }

    destroy() {
      cancelAnimationFrame(this.pending);
      this.observer.disconnect();
      if (this.drawn) this.library().purge(this.plot);
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
