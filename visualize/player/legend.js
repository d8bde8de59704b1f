// The signs: which colour and shape is whose, each a switch.
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
      h("span", { class: "rp-source rp-fixed" }, recap.marker(theme, "target"), theme.keys.target));
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
