// The buttons that change what the page is: compare, present, export, help; and the help itself.
(function (recap) {
  "use strict";
  const { h, words } = recap;

  recap.Tools = class {
    constructor(root, act) {
      const tool = (icon, testid, label, run) => {
        const button = h("button", { type: "button", class: "rp-button", "data-testid": testid, "aria-label": label, title: label, onclick: run }, recap.icon(icon));
        root.append(button);
        return button;
      };
      this.compare = tool("compare", "recap-view", words.toCompare, act.toggleView);
      this.present = tool("present", "recap-present", words.present, act.togglePresenting);
      tool("export", "recap-export-open", words.toExport, act.openExport);
      tool("help", "recap-help-open", words.help, act.toggleHelp);
    }

    update(state) {
      this.compare.setAttribute("aria-pressed", String(state.view === "compare"));
      this.compare.disabled = state.payload.runs.length < 2;
      this.present.setAttribute("aria-pressed", String(state.isPresenting));
    }
  };

  recap.helpDialog = function () {
    const rows = words.keys.map(([key, what]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, what)));
    const help = h("dialog", { class: "rp-help", "data-testid": "recap-help", "aria-label": words.help },
      h("h3", {}, words.helpTitle), h("table", {}, h("tbody", {}, rows)), h("p", {}, words.signs),
      h("button", { type: "button", class: "rp-close", onclick: () => help.close() }, words.close));
    help.addEventListener("click", (event) => { if (event.target === help) help.close(); });
    return help;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
