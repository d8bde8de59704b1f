// A report as a page of plots, in the player's place and colours.
(function (recap) {
  "use strict";
  const { h } = recap;
  const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, typesetMath: false };

  recap.Report = class {
    constructor(element, payload, options) {
      this.element = element;
      this.payload = payload;
      this.options = Object.assign({ theme: "auto" }, options);
      element.classList.add("recap-player", "rp-report");
      this.plots = payload.figures.map(() => h("div", { class: "rp-report-plot" }));
      const { links, saveText } = this.options;
      element.replaceChildren(
        h("header", { class: "rp-report-head" }, h("h3", {}, payload.title), links ? h("a", { class: "rp-soft", href: links.page, download: "", "data-testid": "recap-report-page" }, saveText) : null),
        h("p", { class: "rp-quiet" }, payload.facts),
        h("div", { class: "rp-report-figures" }, payload.figures.map((figure, place) => h("figure", { class: "rp-card" }, h("figcaption", {}, figure.caption), this.plots[place]))));
      this.stopWatching = recap.watchTheme(() => this.draw());
      this.draw();
    }

    draw() {
      const theme = recap.themeName(this.options.theme);
      this.element.dataset.theme = theme;
      recap.applyPalette(this.element, this.payload.palettes[theme]);
      const exchange = recap.exchange(this.payload.palettes, theme);
      this.payload.figures.forEach(({ data, layout }, place) =>
        window.Plotly.react(this.plots[place], recap.recoloured(data, exchange), Object.assign(recap.recoloured(layout, exchange), { width: undefined, autosize: true }), CONFIG));
    }

    destroy() {
      this.stopWatching();
      for (const plot of this.plots) window.Plotly.purge(plot);
      this.element.replaceChildren();
      this.element.classList.remove("recap-player", "rp-report");
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
