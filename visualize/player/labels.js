// What is written beside the nodes: as large as there is room for, cut where the next node begins.
(function (recap) {
  "use strict";
  const { NODE } = recap;
  // The ring around the chosen node takes so much of its label's place.
  const BESIDE_RING = "\u00a0\u00a0";
  // What is drawn around a node, by name: how much wider than the node it is, px.
  const AROUND = { selection: 11, "owes to the picture": 9 };
  const unescaped = (text) => text.replace(/&#36;/g, "$").replace(/&gt;/g, ">").replace(/&lt;/g, "<").replace(/&amp;/g, "&");

  // Text that plotly draws as it reads.
  recap.escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/\$/g, "&#36;");

  // Where the room for a node's label ends, in columns: before the next node of its row, but two columns on and at the
  // frame's end in any case. `width` is a column's, px.
  function endsOfRoom(data, layout, width) {
    const rows = new Map();
    for (const { text, x: xs, y: ys, marker } of data) {
      if (!text) continue;
      xs.forEach((x, place) => {
        if (!rows.has(ys[place])) rows.set(ys[place], []);
        rows.get(ys[place]).push([x, x - (0.6 * marker.size[place] + 2) / width]);
      });
    }
    return (x, y) => Math.min(x + 2, layout.xaxis.range[1], ...rows.get(y).filter(([other]) => other > x).map(([, start]) => start));
  }

  // How wide a text is drawn, px.
  const widths = new Map();
  let pen = null;
  function textWidth(text, size, family) {
    const name = `${family}/${text}`;
    if (!widths.has(name)) {
      pen = pen || document.createElement("canvas").getContext("2d");
      pen.font = `100px ${family}`;
      widths.set(name, pen.measureText(text).width);
    }
    return (widths.get(name) * size) / 100;
  }

  // plotly begins a label so far from the middle of its marker, px.
  const labelStart = (size) => size / 1.6 + 1;

  // A thick line would strike a label out: level edges of the accepted path begin behind the text.
  function breakPath(data, width, family) {
    const nodes = data.find((trace) => trace.name === "nodes");
    const path = data.find((trace) => trace.name === "accepted path");
    if (!path || !path.x.length) return;
    const starts = new Map(nodes.x.map((x, place) => [`${x}/${nodes.y[place]}`,
      x + (labelStart(nodes.marker.size[place]) + textWidth(unescaped(nodes.text[place]), nodes.textfont.size, family) + 4) / width]));
    const { stride } = path.meta;
    path.x = path.x.slice();
    for (let first = 0; first < path.x.length; first += stride) {
      const last = first + stride - 2;
      if (path.y[first] !== path.y[last]) continue;
      const start = Math.min(starts.get(`${path.x[first]}/${path.y[first]}`), path.x[last] - 0.08);
      for (let place = first; place <= last; place += 1) path.x[place] = Math.max(path.x[place], start);
    }
  }

  // Labels are as large as the rows allow; in very wide trees those of rejected leaves give way.
  recap.fitLabels = function (state, data, layout) {
    const { pass } = state;
    const pitch = (layout.height - 30) / Math.abs(layout.yaxis.range[0] - layout.yaxis.range[1]);
    const width = (layout.width - 16) / Math.abs(layout.xaxis.range[1] - layout.xaxis.range[0]);
    const size = Math.max(9, Math.min(state.isPresenting ? 18 : 14, pitch * 0.8, width / 6.8));
    const { family } = layout.font;
    const parents = new Set(pass.nodes.map((node) => node[NODE.parent]));
    const accepted = new Set(state.isJudged() ? pass.accepted : []);
    const scale = Math.max(0.62, Math.min(size / 12, pitch / 17));
    for (const trace of data) {
      if (trace.name in AROUND) trace.marker.size = trace.marker.size * scale + AROUND[trace.name];
      if (trace.text) trace.marker.size = trace.marker.size.map((value) => value * scale);
    }
    const end = endsOfRoom(data, layout, width);
    for (const trace of data) {
      if (!trace.text) continue;
      trace.textfont = Object.assign({}, trace.textfont, { size });
      trace.text = trace.text.map((text, place) => {
        const index = trace.customdata[place];
        if (!text || (pitch < 8.5 && index > 0 && !parents.has(index) && !accepted.has(index) && index !== state.node)) return "";
        const whole = (index === state.node ? BESIDE_RING : "") + unescaped(text);
        const room = (end(trace.x[place], trace.y[place]) - trace.x[place]) * width - labelStart(trace.marker.size[place]);
        const letters = Array.from(whole.replace(/\u2026$/, ""));
        let fitting = whole;
        while (letters.length > 3 && textWidth(fitting, size, family) > room) { letters.pop(); fitting = letters.join("") + "\u2026"; }
        return recap.escaped(fitting);
      });
    }
    if (state.isJudged()) breakPath(data, width, family);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
