// A report as a page of plots, in the player's place and colours.
(function (recap) {
  "use strict";
  const { h } = recap;
  const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, typesetMath: false };

  // A figure with more entries in its legend than a few stands across the page.
  const FEW = 8, PLOT_HEIGHT = 360, LINE_HEIGHT = 20;
  const names = (figure) => figure.data.map((trace) => trace.name).filter(Boolean);

  // Lines of a legend in so many px: all its columns are as wide as the longest name.
  function legendLines(figure, width) {
    const entry = 50 + 7 * Math.max(1, ...names(figure).map((name) => name.length));
    return Math.ceil(names(figure).length / Math.max(1, Math.floor(width / entry)));
  }

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
        h("div", { class: "rp-report-figures" }, payload.figures.map((figure, place) => h("figure", { class: names(figure).length > FEW ? "rp-card rp-wide" : "rp-card" }, h("figcaption", {}, figure.caption), this.plots[place]))));
      this.stopWatching = recap.watchTheme(() => this.draw());
      this.draw();
    }

    draw() {
      const theme = recap.themeName(this.options.theme);
      this.element.dataset.theme = theme;
      recap.applyPalette(this.element, this.payload.palettes[theme]);
      const exchange = recap.exchange(this.payload.palettes, theme);
      this.payload.figures.forEach((figure, place) => {
        const layout = recap.recoloured(figure.layout, exchange);
        // The legend has as many lines as it takes in this width, and the plot its height below them.
        const lines = legendLines(figure, this.plots[place].clientWidth - 90);
        Object.assign(layout, { width: undefined, autosize: true, height: PLOT_HEIGHT + LINE_HEIGHT * lines });
        Object.assign(layout.legend, { maxheight: LINE_HEIGHT * (lines + 1) });
        window.Plotly.react(this.plots[place], recap.recoloured(figure.data, exchange), layout, CONFIG);
      });
    }

    destroy() {
      this.stopWatching();
      for (const plot of this.plots) window.Plotly.purge(plot);
      this.element.replaceChildren();
      this.element.classList.remove("recap-player", "rp-report");
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
