// What is written beside the nodes: as large as there is room for, cut where the next node begins; where rows stand too
// close for type that can be read, some labels give way.
(function (recap) {
  "use strict";
  const { NODE } = recap;
  // The ring around the chosen node takes so much of its label's place.
  const BESIDE_RING = "\u00a0\u00a0";
  // What is drawn around a node, by name: how much wider than the node it is, px.
  const AROUND = { selection: 11, "owes to the picture": 9 };
  // Type sizes, px: the least that is read at a desk, and the most that looks calm. Narrow columns make type no smaller
  // than `column`: a longer label is cut instead.
  const DESK = { least: 9, column: 11, most: 14 };
  // From the back of a room larger type is needed; it gives way only where a column would hold no word.
  const inRoom = (width) => { const least = Math.max(13, Math.min(17, width / 4.6)); return { least, column: least, most: 20 }; };
  const TARGET = -2; // the target's own token, by its node number
  // How high the letters of a line are, of its type size.
  const LETTERS = 0.94;
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

  // A label's claim to its place: the chosen node's and the text's own come first, then who was made first.
  function claim(state, index, accepted) {
    if (index === state.node) return -2;
    return index === 0 || index === TARGET || accepted.has(index) ? -1 : state.pass.nodes[index][NODE.pop];
  }

  // The text cut to its room, px; three letters stay in any case.
  function cut(text, room, size, family) {
    const letters = Array.from(text.replace(/\u2026$/, ""));
    let fitting = text;
    while (letters.length > 3 && textWidth(fitting, size, family) > room) { letters.pop(); fitting = letters.join("") + "\u2026"; }
    return fitting;
  }

  // Lines of neighbouring rows must not run into each other: the one with the weaker claim is cut, or left out.
  function spread(labels, size, family) {
    const placed = [];
    for (const label of labels.sort((one, other) => one.claim - other.claim || other.start - one.start)) {
      const near = placed.filter((other) => other.y !== label.y && Math.abs(other.y - label.y) < LETTERS * size);
      const end = Math.min(label.end, ...near.filter((other) => other.start > label.start).map((other) => other.start));
      const text = cut(label.text, end - label.start, size, family);
      const stop = label.start + textWidth(text, size, family);
      if (near.some((other) => other.start < stop && label.start < other.stop)) continue;
      placed.push({ y: label.y, start: label.start, stop });
      label.trace.text[label.place] = recap.escaped(text);
    }
  }

  recap.fitLabels = function (state, data, layout) {
    const pitch = (layout.height - 30) / Math.abs(layout.yaxis.range[0] - layout.yaxis.range[1]);
    const width = (layout.width - 16) / Math.abs(layout.xaxis.range[1] - layout.xaxis.range[0]);
    const { least, column, most } = state.isPresenting ? inRoom(width) : DESK;
    const size = Math.max(least, Math.min(most, pitch * 0.8, Math.max(column, width / 6.8)));
    const { family } = layout.font;
    const scale = Math.max(0.62, Math.min(size / 12, pitch / 17));
    for (const trace of data) {
      if (trace.name in AROUND) trace.marker.size = trace.marker.size * scale + AROUND[trace.name];
      if (trace.text) trace.marker.size = trace.marker.size.map((value) => value * scale);
    }
    const endOfRoom = endsOfRoom(data, layout, width);
    const accepted = new Set(state.isJudged() ? state.pass.accepted : []);
    const labels = [];
    for (const trace of data) {
      if (!trace.text) continue;
      trace.textfont = Object.assign({}, trace.textfont, { size });
      trace.text.forEach((text, place) => {
        if (!text) return;
        const [index, x, y] = [trace.customdata[place], trace.x[place], trace.y[place]];
        labels.push({
          trace, place, claim: claim(state, index, accepted), text: (index === state.node ? BESIDE_RING : "") + unescaped(text),
          y: y * pitch, start: x * width + labelStart(trace.marker.size[place]), end: endOfRoom(x, y) * width,
        });
      });
      trace.text = trace.text.map(() => "");
    }
    spread(labels, size, family);
    if (state.isJudged()) breakPath(data, width, family);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
