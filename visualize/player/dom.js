// Elements and numbers: text always goes in as text, and a shown number carries its unrounded value.
(function (recap) {
  "use strict";

  const SVG = "http://www.w3.org/2000/svg";

  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "class") element.setAttribute("class", value);
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "style") for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child === null || child === undefined || child === false) continue;
      element.append(child instanceof Node ? child : document.createTextNode(String(child)));
    }
    return element;
  }

  recap.h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  recap.svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

  recap.rounded = function (value, digits) {
    if (value === null || value === undefined) return "\u2013";
    if (value !== 0 && Math.abs(value) < Math.pow(10, -digits)) return value.toPrecision(2);
    return value.toFixed(digits);
  };

  recap.seconds = (value) => (value < 1 ? `${(value * 1000).toFixed(0)} ms` : `${value.toFixed(2)} s`);

  // A number as people read it, with the recorded value beside it.
  recap.number = function (value, digits, attributes) {
    const raw = value === null || value === undefined ? "" : String(value);
    return recap.h("span", Object.assign({ class: "rp-number", "data-value": raw }, attributes), recap.rounded(value, digits));
  };

  // In a narrow column: so many digits, a power of ten for what they would round away, the whole value in the title.
  recap.cell = function (value, digits) {
    const isTiny = value !== 0 && value < 0.5 * Math.pow(10, -digits);
    return recap.h("span", { class: "rp-number", "data-value": String(value), title: String(value) }, isTiny ? value.toExponential(0) : value.toFixed(digits));
  };

  // The same for an element that exists already.
  recap.showNumber = function (element, value, text) {
    element.setAttribute("data-value", value === null || value === undefined ? "" : String(value));
    element.textContent = text;
  };

  // A list that was opened by mouse gives the arrow keys back to the run; one that is used by keys keeps them.
  recap.givingKeysBack = function (select) {
    let isPointed = false;
    select.addEventListener("pointerdown", () => { isPointed = true; });
    select.addEventListener("keydown", () => { isPointed = false; });
    select.addEventListener("change", () => { if (isPointed) select.blur(); });
    return select;
  };

  const SHAPES = {
    circle: ["circle", { cx: 6, cy: 6, r: 4.6 }],
    square: ["rect", { x: 1.8, y: 1.8, width: 8.4, height: 8.4 }],
    "triangle-up": ["path", { d: "M6 1 L11.2 10.4 L0.8 10.4 Z" }],
    hexagon: ["path", { d: "M6 0.8 L10.6 3.4 L10.6 8.6 L6 11.2 L1.4 8.6 L1.4 3.4 Z" }],
    diamond: ["path", { d: "M6 0.4 L11.6 6 L6 11.6 L0.4 6 Z" }],
    cross: ["path", { d: "M4.4 1h3.2v3.4H11v3.2H7.6V11H4.4V7.6H1V4.4h3.4Z" }],
  };

  // The marker of a source, as in the tree.
  recap.marker = function (theme, source) {
    const [tag, shape] = SHAPES[theme.markers[source]] || SHAPES.cross;
    const mark = recap.svg(tag, Object.assign({ fill: `var(--rp-${source})` }, shape));
    return recap.svg("svg", { class: "rp-marker", viewBox: "0 0 12 12", "aria-hidden": "true" }, mark);
  };

  recap.token = (form, source) => recap.h("bdi", { class: "rp-form" + (source ? ` rp-from-${source}` : "") }, form);

  const ICONS = {
    first: "M4 4v12h2V4zm12 0L7 10l9 6z",
    previous: "M14 4L5 10l9 6z",
    next: "M6 4l9 6-9 6z",
    last: "M14 4v12h2V4zM4 4l9 6-9 6z",
    play: "M5 3l12 7-12 7z",
    pause: "M5 3h3.6v14H5zM11.4 3H15v14h-3.6z",
    compare: "M2 3h16v3H2zM2 8.5h9v3H2zM2 14h12v3H2z",
    present: "M2 3h16v11h-6.4l2.4 4h-2.2L10 15l-1.8 3H6l2.4-4H2zM4 5v7h12V5z",
    export: "M9 2h2v7h3.2L10 13.6 5.8 9H9zM3 15h14v2.4H3z",
    help: "M10 2a8 8 0 1 0 0 16 8 8 0 0 0 0-16zm-1 12h2v2H9zm1-9.5c1.9 0 3.3 1.2 3.3 3 0 1.3-.7 2-1.5 2.6-.6.5-.8.8-.8 1.7V13H9v-1c0-1.400.5-2 1.300-2.600.7-.5 1-.8 1-1.500 0-.7-.5-1.200-1.300-1.200-.9 0-1.400.6-1.400 1.500H6.700c0-2 1.400-3.300 3.300-3.300z",
  };
  recap.icon = (name) =>
    recap.svg("svg", { viewBox: "0 0 20 20", "aria-hidden": "true" }, recap.svg("path", { d: ICONS[name], fill: "currentColor" }));
})((window.RecapPlayer = window.RecapPlayer || {}));
