// What can be taken along: the tree as a picture, the passes as a table, and, where the page offers them, trace and page.
(function (recap) {
  "use strict";
  const { h, words, SPAN } = recap;
  const SIZE = { width: 1280, height: 720 };

  function save(name, type, content) {
    const url = content.startsWith("data:") ? content : URL.createObjectURL(new Blob([content], { type }));
    const link = h("a", { href: url, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    if (!content.startsWith("data:")) setTimeout(() => URL.revokeObjectURL(url), 10000);
  }

  const fileName = (state, rest) => `${state.run.name}-${rest}`.replace(/[^\w.-]+/g, "-");

  function field(value) {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  }

  // A line a pass; numbers unrounded. Text stands in quotation marks of its own, so that no sheet takes it for a formula.
  recap.passesCsv = function (state) {
    const origins = ["G", "C", "U", "suffix", "draft", "target"];
    const lines = [["pass", "prefix_length", "draft_nodes", "accepted", "committed", ...origins.map((name) => `tokens_by_${name}`),
      "draft_seconds", "verify_seconds", "commit_seconds", "update_seconds", "end_seconds", "rows_G", "rows_C", "rows_U", "text"]];
    for (const [place, pass] of state.run.passes.entries()) {
      const spans = state.run.text.filter((span) => span[SPAN.pass] === pass.index);
      lines.push([pass.index, pass.prefix_length, pass.num_nodes, pass.accepted.length, pass.committed.length,
        ...origins.map((name) => spans.filter((span) => span[SPAN.proposer] === name).length), ...pass.seconds, state.run.ends[place + 1],
        ...(pass.sizes || ["", "", ""]), `\u201c${pass.committed.map((id) => state.form(id)).join("")}\u201d`]);
    }
    return lines.map((line) => line.map(field).join(",")).join("\r\n") + "\r\n";
  };

  // The tree as it is drawn, on its own background and with a title.
  recap.treePicture = async function (state, tree, format) {
    const { data, layout } = tree.figure(state);
    const title = `${words.passOf(state.step, state.numSteps)} \u00b7 ${state.run.name}`;
    const picture = Object.assign({}, layout, SIZE, {
      paper_bgcolor: tree.background(state), margin: { l: 24, r: 24, t: 72, b: 20 }, title: { text: recap.escaped(title), font: { size: 15 }, x: 0.02, xanchor: "left" },
    });
    const url = await tree.library().toImage({ data, layout: picture }, Object.assign({ format, scale: format === "png" ? 2 : 1 }, SIZE));
    return url;
  };

  recap.exportDialog = function (act, options) {
    const dialog = h("dialog", { class: "rp-help rp-export", "data-testid": "recap-export", "aria-label": words.exportTitle });
    const tell = h("p", { class: "rp-quiet", role: "status" });
    const item = (testid, label, note, run) => h("button", { type: "button", class: "rp-choice", "data-testid": testid, onclick: run }, h("b", {}, label), h("span", {}, note));
    const link = (testid, label, note, href) => h("a", { class: "rp-choice", "data-testid": testid, href, download: "", onclick: () => dialog.close() }, h("b", {}, label), h("span", {}, note));
    const draw = async (format) => {
      const state = act.state();
      if (!state.pass || !state.pass.tree) { tell.textContent = words.noTree; return; }
      try {
        save(fileName(state, `pass-${state.step}.${format}`), "", await recap.treePicture(state, act.tree(), format));
        dialog.close();
      } catch { tell.textContent = words.exportFailed; }
    };
    dialog.open_ = () => {
      tell.textContent = "";
      const links = options.links || {};
      dialog.replaceChildren(h("h3", {}, words.exportTitle), h("div", { class: "rp-choices" },
        item("recap-save-svg", "SVG", words.exports.svg, () => draw("svg")), item("recap-save-png", "PNG", words.exports.png, () => draw("png")),
        item("recap-save-csv", "CSV", words.exports.csv, () => { save(fileName(act.state(), "passes.csv"), "text/csv", recap.passesCsv(act.state())); dialog.close(); }),
        links.page && link("recap-save-page", "HTML", words.exports.page, links.page), links.trace && link("recap-save-trace", "JSON", words.exports.trace, links.trace)),
        tell, h("button", { type: "button", class: "rp-close", onclick: () => dialog.close() }, words.close));
      dialog.showModal();
    };
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    return dialog;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
