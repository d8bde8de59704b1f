// Light or dark, and the address of what is shown.
(function (recap) {
  "use strict";

  // Gradio says it by a class; elsewhere the reader's system does.
  recap.themeName = function (wanted) {
    if (wanted === "light" || wanted === "dark") return wanted;
    if (document.querySelector(".dark") === document.body || document.documentElement.classList.contains("dark")) return "dark";
    if (window.gradio_config || document.querySelector("gradio-app")) return "light";
    return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  };

  recap.applyPalette = function (element, palette) {
    for (const [role, colour] of Object.entries(palette)) element.style.setProperty(`--rp-${role}`, colour);
  };

  // The light palette's colours, in which figures are made, to those of the theme.
  recap.exchange = (palettes, theme) => Object.fromEntries(Object.keys(palettes.light).map((role) => [palettes.light[role], palettes[theme][role]]));

  // A copy with its colours exchanged; only values under keys that hold colours are touched.
  recap.recoloured = function recoloured(value, exchange, holds) {
    if (Array.isArray(value)) return value.map((item) => recoloured(item, exchange, holds));
    if (value && typeof value === "object") {
      const copy = {};
      for (const key of Object.keys(value)) copy[key] = recoloured(value[key], exchange, key.toLowerCase().includes("color"));
      return copy;
    }
    return holds && typeof value === "string" && value in exchange ? exchange[value] : value;
  };

  recap.watchTheme = function (onChange) {
    const media = window.matchMedia("(prefers-color-scheme: dark)");
    const observer = new MutationObserver(onChange);
    for (const element of [document.documentElement, document.body]) observer.observe(element, { attributes: true, attributeFilter: ["class"] });
    media.addEventListener("change", onChange);
    return () => { observer.disconnect(); media.removeEventListener("change", onChange); };
  };

  recap.readLink = function () {
    const query = new URLSearchParams(window.location.search);
    const place = {};
    if (query.get("run")) place.run = query.get("run");
    if (query.get("view") === "compare") place.view = "compare";
    for (const name of ["step", "node", "substep"]) {
      const value = Number.parseInt(query.get(name), 10);
      if (Number.isInteger(value)) place[name] = value;
    }
    return place;
  };

  // Browsers slow down an address that changes with every key press: it follows when the reader rests.
  recap.linkWriter = function () {
    let timer = 0;
    function write(place) {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const query = new URLSearchParams(window.location.search);
        for (const name of ["run", "step", "substep", "node", "view"]) {
          if (place[name] === null || place[name] === undefined) query.delete(name);
          else query.set(name, String(place[name]));
        }
        window.history.replaceState(window.history.state, "", `${window.location.pathname}?${query}${window.location.hash}`);
      }, 250);
    }
    write.cancel = () => clearTimeout(timer);
    return write;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
