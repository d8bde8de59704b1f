// A report as a page of plots, in the player's place and colours.
(function (recap) {
  "use strict";
  const { h } = recap;
  const CONFIG = { displaylogo: false, displayModeBar: false, typesetMath: false };

  // A figure with more entries in its legend than a few, or more rows, stands across the page.
  const FEW = 8, TALL = 400, LINE_HEIGHT = 20;
  // Where a table breaks the names of its rows into more lines, px.
  const NARROW = 350;
  const names = (data, layout) => (layout.showlegend ? [...data, ...(layout.shapes || [])].map((entry) => entry.name).filter(Boolean) : []);
  const isWide = ({ data, layout }) => names(data, layout).length > FEW || layout.meta.plot_height > TALL;

  // As wide as its place. The legend has as many lines as it takes there, and the plot its height below them.
  // `config` is plotly's, where it differs from ours.
  recap.drawReportFigure = function (place, data, layout, config) {
    const all = names(data, layout);
    // All columns of a legend are as wide as its longest name.
    const entry = 50 + 7 * Math.max(1, ...all.map((name) => name.length));
    const lines = Math.ceil(all.length / Math.max(1, Math.floor((place.clientWidth - 90) / entry)));
    const shape = (place.clientWidth < NARROW && layout.meta.narrow) || layout.meta;
    if (shape.row_names) layout.yaxis.ticktext = shape.row_names;
    Object.assign(layout, { width: undefined, autosize: true, height: shape.plot_height + LINE_HEIGHT * lines });
    Object.assign(layout.legend, { maxheight: LINE_HEIGHT * (lines + 1) });
    window.Plotly.react(place, data, layout, Object.assign({}, CONFIG, config));
  };

  // Calls `onChange` whenever an element becomes narrower or wider; returns how to stop that.
  recap.watchWidth = function (element, onChange) {
    let width = element.clientWidth;
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      onChange();
    });
    observer.observe(element);
    return () => observer.disconnect();
  };

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
        h("div", { class: "rp-report-figures" }, payload.figures.map((figure, place) => h("figure", { class: isWide(figure) ? "rp-card rp-wide" : "rp-card" }, h("figcaption", {}, figure.caption), this.plots[place]))));
      const watches = [recap.watchTheme(() => this.draw()), recap.watchWidth(element, () => this.draw())];
      this.stopWatching = () => watches.forEach((stop) => stop());
      this.draw();
    }

    draw() {
      const theme = recap.themeName(this.options.theme);
      this.element.dataset.theme = theme;
      recap.applyPalette(this.element, this.payload.palettes[theme]);
      const exchange = recap.exchange(this.payload.palettes, theme);
      this.payload.figures.forEach((figure, place) => {
        recap.drawReportFigure(this.plots[place], recap.recoloured(figure.data, exchange), recap.recoloured(figure.layout, exchange));
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
