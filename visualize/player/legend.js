// The signs: which colour and shape is whose, each a switch, and the help that lists the keys.
(function (recap) {
  "use strict";
  const { h, words } = recap;
  const SWITCHES = ["G", "C", "U", "suffix"];

  recap.drawLegend = function (root, state, act) {
    const theme = state.payload.theme;
    const switches = SWITCHES.map((source) => {
      const label = words.showSource(theme.keys[source]);
      const pressed = state.hidden.has(source) ? "false" : "true";
      return h("button", { type: "button", class: "rp-source", "aria-pressed": pressed, "aria-label": label, title: label, onclick: () => act.toggleSource(source) },
        recap.marker(theme, source), theme.keys[source]);
    });
    root.replaceChildren(...switches,
      h("span", { class: "rp-source rp-fixed" }, recap.marker(theme, "target"), theme.keys.target),
      h("button", { type: "button", class: "rp-source rp-helper", "aria-label": words.help, title: words.help, onclick: act.toggleHelp }, "?"));
  };

  recap.helpDialog = function () {
    const rows = words.keys.map(([key, what]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, what)));
    const help = h("dialog", { class: "rp-help", "data-testid": "recap-help", "aria-label": words.help },
      h("table", {}, h("tbody", {}, rows)), h("p", {}, words.signs),
      h("button", { type: "button", class: "rp-close", onclick: () => help.close() }, words.close));
    help.addEventListener("click", (event) => { if (event.target === help) help.close(); });
    return help;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
