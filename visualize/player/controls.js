// The bottom bar: buttons, the scrubber whose bars are the tokens of each pass, and the stages inside a pass.
(function (recap) {
  "use strict";
  const { h, words } = recap;
  const SPEEDS = [0.25, 0.5, 1, 2, 4];

  function button(name, testid, label, act) {
    return h("button", { type: "button", class: "rp-button", "data-testid": testid, "aria-label": label, title: label, onclick: act }, recap.icon(name));
  }

  recap.Controls = class {
    constructor(root, act) {
      this.act = act;
      this.play = button("play", "recap-play", words.play, () => act.togglePlay(false));
      this.play.classList.add("rp-play");
      const speed = recap.givingKeysBack(h("select", { class: "rp-select", "aria-label": words.speed, title: words.speed, onchange: (event) => act.setSpeed(Number(event.target.value)) },
        SPEEDS.map((value) => h("option", { value, selected: value === 1 }, `${value}\u00d7`))));
      this.buttons = h("div", { class: "rp-buttons" },
        button("first", "recap-first", words.first, () => act.goTo({ step: 1 })),
        button("previous", "recap-prev", words.previous, () => act.move(-1)), this.play,
        button("next", "recap-next", words.next, () => act.move(1)),
        button("last", "recap-last", words.last, () => act.goTo({ step: Infinity })), speed);
      this.bars = h("div", { class: "rp-bars" });
      this.scrubber = h("div", { class: "rp-scrubber", role: "slider", tabindex: "0", "aria-label": words.scrubber, title: words.scrubber, "aria-valuemin": "1", "data-testid": "recap-scrubber" }, this.bars);
      this.index = h("div", { class: "rp-index", "data-testid": "recap-pass-index" });
      this.tools = h("div", { class: "rp-buttons", role: "group", "aria-label": words.tools });
      root.append(this.buttons, this.scrubber, this.index, this.tools);
      const seek = (event) => {
        const box = this.bars.getBoundingClientRect();
        act.goTo({ step: 1 + Math.floor(((event.clientX - box.left) / box.width) * this.count) });
      };
      this.scrubber.addEventListener("pointerdown", (event) => { this.scrubber.setPointerCapture(event.pointerId); this.seeking = true; seek(event); });
      this.scrubber.addEventListener("pointermove", (event) => this.seeking && seek(event));
      for (const end of ["pointerup", "pointercancel"]) this.scrubber.addEventListener(end, () => { this.seeking = false; });
    }

    build(state) {
      this.count = state.numSteps;
      // A bar is a stack of the pass's tokens, each in the colour of what proposed it.
      const tokens = state.run.passes.map(() => []);
      for (const span of state.run.text) if (span[recap.SPAN.pass]) tokens[span[recap.SPAN.pass] - 1].push(span[recap.SPAN.proposer]);
      const most = Math.max(3, ...tokens.map((list) => list.length));
      this.items = tokens.map((list) => h("i", { "data-value": list.length },
        list.slice().reverse().map((proposer) => h("b", { style: { height: `${100 / most}%`, background: `var(--rp-${proposer})` } }))));
      this.bars.replaceChildren(...this.items);
      this.scrubber.setAttribute("aria-valuemax", String(Math.max(1, this.count)));
      this.current = null;
    }

    update(state) {
      const item = this.items[state.step - 1] || null;
      if (this.current) this.current.classList.remove("rp-is-now");
      if (item) item.classList.add("rp-is-now");
      this.current = item;
      const text = words.passOf(state.step, state.numSteps);
      this.scrubber.setAttribute("aria-valuenow", String(Math.max(1, state.step)));
      this.scrubber.setAttribute("aria-valuetext", text);
      recap.showNumber(this.index, state.step, text);
      const label = state.playing ? words.pause : words.play;
      this.play.replaceChildren(recap.icon(state.playing ? "pause" : "play"));
      this.play.setAttribute("aria-label", label);
      this.play.title = label;
    }
  };

  // The stages of the pass, and what this one does in a sentence.
  recap.Stages = class {
    constructor(root, act) {
      this.act = act;
      this.list = h("div", { class: "rp-stages", role: "group", "aria-label": words.stageHelp, title: words.stageHelp, "data-testid": "recap-substeps" });
      this.told = h("p", { class: "rp-told" });
      this.play = h("button", { type: "button", class: "rp-button rp-inner-play", "data-testid": "recap-play-inside", onclick: () => act.togglePlay(true) });
      root.append(this.play, this.list, this.told);
    }

    update(state) {
      const stages = state.stages();
      const here = state.stage();
      const shown = state.substep === null ? stages.length - 1 : state.substep;
      const names = stages.map((stage) => stage.name);
      this.list.replaceChildren(...Object.keys(words.stages).map((name) => {
        const at = name === "grow" ? 0 : names.indexOf(name);
        const exists = names.includes(name);
        const now = state.substep !== null && here.name === name;
        const done = exists && names.lastIndexOf(name) <= shown;
        return h("button", {
          type: "button", class: "rp-stage" + (now ? " rp-is-now" : "") + (done ? " rp-is-done" : ""), disabled: !exists, "data-stage": name,
          "aria-pressed": now ? "true" : "false", onclick: () => this.act.goTo({ substep: at }),
        }, words.stages[name]);
      }));
      const label = state.playing ? words.pause : words.playInside;
      this.play.replaceChildren(recap.icon(state.playing ? "pause" : "play"));
      this.play.setAttribute("aria-label", label);
      this.play.title = label;
      this.told.title = recap.stageSentence(state);
      // Many tokens in a row are one long word: a line may end before each.
      this.told.replaceChildren(...this.told.title.split(/(?=\u00b7)/).flatMap((part) => [h("wbr"), part]));
    }
  };

  recap.stageSentence = function (state) {
    const pass = state.pass;
    if (!pass) return words.noPass;
    const stage = state.stage();
    if (state.substep === null || stage.name === "commit") return pass.sentence;
    if (stage.name === "grow") {
      const node = pass.nodes.find((item) => item[recap.NODE.pop] === stage.made);
      const fused = pass.nodes.filter((item) => item[recap.NODE.source] !== "suffix").length - 1;
      const found = node[recap.NODE.retrieved].map((item) => item[recap.FOUND.source]);
      return words.grow(stage.made, fused, recap.rounded(node[recap.NODE.score], 5), found, node[recap.NODE.kept].length);
    }
    if (stage.name === "suffix") {
      const copied = pass.nodes.filter((node) => node[recap.NODE.source] === "suffix").length;
      return words.suffix(copied, pass.suffix ? pass.suffix.length : 0);
    }
    if (stage.name === "verify") return words.verify(pass.nodes.length);
    const fresh = pass.writes.filter((write) => write[4] === null).length;
    return words.write(pass.nodes.length, pass.writes.length, fresh, pass.writes.length - fresh);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
