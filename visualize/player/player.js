// The player: puts the parts together, and is the only one that the page calls.
//   const player = window.RecapPlayer.mount(element, payload, options)
(function (recap) {
  "use strict";
  const { h, words } = recap;
  // Milliseconds at 1x: from pass to pass, and from step to step inside one.
  const PASS_MILLISECONDS = 900, STEP_MILLISECONDS = 240;
  const PANELS = { fusion: "fusionPanel", memory: "memoryPanel", table: "tablePanel", rules: "rulesPanel", lab: "labPanel" };
  const PLACE = ["run", "step", "substep", "node"];
  const mounted = new WeakMap();

  class Player {
    constructor(element, payload, options) {
      this.element = element;
      this.options = Object.assign({ link: false, autoplay: false, height: "100vh", theme: "auto", keys: "document" }, options);
      this.calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      const start = Object.assign({}, this.options, this.options.link ? recap.readLink() : {});
      this.state = new recap.State(payload, clean(start));
      if (start.view === "compare") this.state.view = "compare";
      this.writeLink = this.options.link ? recap.linkWriter() : null;
      this.act = recap.actions(this);
      element.classList.add("recap-player");
      element.setAttribute("tabindex", "-1");
      element.style.setProperty("--rp-height", this.options.height);
      this.stopListening = recap.listen(this.options.keys === "element" ? element : document, this.act);
      this.stopWatching = recap.watchTheme(() => this.retheme());
      this.build();
      if (this.options.lesson) this.openLesson(this.options.lesson, this.options.lessonStep);
      else if (this.options.autoplay && !this.calm) this.playOnceDrawn();
    }

    build() {
      if (this.tree) { this.tree.destroy(); this.tree = null; }
      if (!this.state.run) {
        this.element.replaceChildren(h("p", { class: "rp-message" }, this.options.emptyText || words.empty));
        this.retheme();
        return;
      }
      const part = (name, attributes) => h("div", Object.assign({ class: name }, attributes));
      const summary = part("rp-top"), stages = part("rp-tree-head"), bar = part("rp-bar-row"), lesson = part("rp-lesson", { "data-testid": "recap-lesson", hidden: true });
      const plot = part("rp-tree", { role: "img", "aria-label": words.tree, "data-testid": "recap-tree" });
      this.legend = part("rp-legend", { role: "group", "aria-label": words.legend });
      this.tabs = part("rp-tabs", { role: "tablist", "aria-label": words.panels });
      this.panel = part("rp-panel-body", { role: "tabpanel", tabindex: "0" });
      const answer = part("rp-answer", { role: "region", tabindex: "0", "data-testid": "recap-text" });
      this.middle = h("div", { class: "rp-middle" },
        h("section", { class: "rp-card rp-tree-card" }, stages, plot, this.legend),
        h("section", { class: "rp-card rp-side" }, lesson, this.tabs, this.panel));
      this.other = h("section", { class: "rp-card rp-compare", "data-testid": "recap-compare", hidden: true });
      this.help = recap.helpDialog();
      this.exports = recap.exportDialog(this.act, this.options);
      this.element.replaceChildren(summary, this.middle, this.other, h("section", { class: "rp-card rp-answer-card" }, answer), h("section", { class: "rp-card rp-bar-card" }, bar), this.help, this.exports);
      this.summary = new recap.Summary(summary, this.act);
      this.stages = new recap.Stages(stages, this.act);
      this.tree = new recap.Tree(plot, this.options.plotly, (node) => this.goTo({ node }));
      this.answer = new recap.Answer(answer, (step, node) => this.goTo({ step, node }));
      this.controls = new recap.Controls(bar, this.act);
      this.tools = new recap.Tools(this.controls.tools, this.act);
      this.compare = new recap.Compare(this.other, this.act);
      this.heard = new recap.Heard(this.element, this.state);
      const kept = this.lesson;
      this.lesson = new recap.Lesson(lesson, this.act);
      if (kept && kept.isOpen) { this.lesson.load(kept.lesson, kept.index); this.lesson.answers = kept.answers; }
      this.rebuild();
    }

    // What depends on the run; stepping only updates.
    rebuild() {
      this.showView();
      this.summary.build(this.state);
      this.answer.build(this.state);
      this.controls.build(this.state);
      this.addRunChoice();
      this.retheme();
    }

    showView() {
      const isCompare = this.state.view === "compare";
      this.middle.hidden = isCompare;
      this.other.hidden = !isCompare;
      this.element.classList.toggle("rp-presenting", this.state.isPresenting);
      if (isCompare) this.compare.build(this.state);
    }

    addRunChoice() {
      const runs = this.state.payload.runs;
      this.runChoice = null;
      if (runs.length < 2) return;
      const choice = h("select", { class: "rp-select rp-run", "aria-label": words.run, "data-testid": "recap-run-select" },
        runs.map((run) => h("option", { value: run.name, selected: run === this.state.run }, recap.runLabel(run))));
      this.runChoice = recap.givingKeysBack(choice);
      // Behind the listener that lets go of a list opened by mouse: a list that still has the focus gets it back anew.
      choice.addEventListener("change", () => this.goTo({ run: choice.value, step: 1, node: null }));
      this.element.querySelector(".rp-badges").prepend(this.runChoice);
    }

    retheme() {
      this.theme = recap.themeName(this.options.theme);
      this.element.dataset.theme = this.theme;
      if (this.state.payload) {
        recap.applyPalette(this.element, this.state.payload.theme.palettes[this.theme]);
      }
      this.update();
    }

    update() {
      const state = this.state;
      if (!state.run || !this.tree) return;
      this.controls.update(state);
      this.tools.update(state);
      this.summary.update(state);
      this.answer.update(state);
      this.heard.update(state);
      this.tree.themeName = this.theme;
      if (this.runChoice) this.runChoice.disabled = this.lesson.isWaiting;
      this.element.classList.toggle("rp-veiled", this.lesson.isWaiting && !state.isJudged());
      if (state.view === "compare") { this.compare.update(state); return; }
      this.stages.update(state);
      recap.drawLegend(this.legend, state, this.act);
      this.lesson.draw();
      this.drawPanel();
      this.tree.schedule(state, this.theme);
    }

    // The picture lab needs a model behind the page, and the run that it made.
    tabNames() { return Object.keys(PANELS).filter((name) => name !== "lab" || (this.options.lab && this.state.run.name === recap.labRun(this.state))); }

    drawPanel() {
      const { state } = this;
      // A lesson that asks, or speaks of the tree, has the side to itself.
      const isShown = !this.lesson.isOpen || (Boolean(this.lesson.step.panel) && !this.lesson.isWaiting);
      this.tabs.hidden = this.panel.hidden = !isShown;
      if (!this.tabNames().includes(state.tab)) state.tab = "fusion";
      this.tabs.replaceChildren(...this.tabNames().map((name) => [name, words.tabs[name]]).map(([name, label]) =>
        h("button", { type: "button", role: "tab", class: "rp-tab", "aria-selected": state.tab === name ? "true" : "false", "data-tab": name, onclick: () => this.act.showTab(name) }, label,
          name === "memory" && state.pass && state.pass.writes && state.stage().name === "write" ? h("span", { class: "rp-count", title: words.rowsWritten(state.pass.writes.length) }, state.pass.writes.length) : null)));
      const scroll = this.panelTab === state.tab ? this.panel.scrollTop : 0;
      this.panel.setAttribute("data-testid", `recap-${state.tab}`);
      this.panel.setAttribute("aria-label", words.tabs[state.tab]);
      this.panel.replaceChildren(recap[PANELS[state.tab]](state, (node) => this.goTo({ node }), this));
      this.panel.scrollTop = scroll;
      this.panelTab = state.tab;
    }

    change(how, isWhole) {
      if (!this.state.run) return;
      const run = this.state.run;
      const focus = recap.rememberFocus(this.element);
      how();
      if (run === this.state.run && !isWhole) this.update(); else this.rebuild();
      recap.restoreFocus(focus);
      const place = this.state.place();
      if (this.writeLink) this.writeLink(Object.assign({}, place, { view: place.view === "compare" ? place.view : null }));
      if (this.options.onSelect) this.options.onSelect(Object.assign({ lesson: this.lesson.isOpen ? this.lesson.lesson.name : null, lessonStep: this.lesson.index + 1 }, place));
    }

    // Where plotly.js is still on its way, play begins with the tree, unless the reader has gone somewhere by then.
    playOnceDrawn() {
      const { tree, state } = this;
      if (!tree || !tree.isAwaited) { this.setPlaying(true); return; }
      tree.ready.then(() => { if (this.tree === tree && state.step === 1 && state.substep === null && !this.lesson.isOpen) this.setPlaying(true); });
    }

    // `inside`: step by step in each pass.
    setPlaying(playing, inside) {
      clearInterval(this.timer);
      if (!this.state.run) return;
      this.change(() => {
        if (playing && !this.state.playing && this.state.isAtEnd(inside)) this.state.goTo({ step: 1 });
        this.state.playing = playing;
        this.state.playsInside = Boolean(playing && inside);
      });
      if (playing) this.timer = setInterval(() => {
        if (this.lesson.isWaiting || (this.state.isAtEnd(inside) && !this.state.run.is_live)) this.setPlaying(false);
        else (inside ? this.act.moveInside : this.act.move)(1);
      }, (inside ? STEP_MILLISECONDS : PASS_MILLISECONDS) / this.state.speed);
    }

    goTo(place) {
      const wanted = clean(place);
      // A lesson's open question keeps the run where it is; of this pass, nodes can be chosen.
      const leaves = ["run", "step", "substep"].some((name) => name in wanted);
      if (leaves && this.lesson && this.lesson.isWaiting) return;
      this.change(() => this.state.goTo(wanted));
    }

    openLesson(lesson, step) {
      if (!this.state.run) return;
      this.lesson.load(lesson, (step || 1) - 1);
      this.state.view = "tree";
      this.lesson.enter();
    }

    setPayload(payload, where) {
      const start = where || {};
      const kept = start.keep ? this.state.place() : {};
      clearInterval(this.timer);
      this.state.playing = false;
      if (this.lesson && !start.keep) this.lesson.load(null);
      this.state.load(payload, clean(Object.assign({}, start.keep ? { run: kept.run, step: kept.step, node: kept.node } : {}, start)));
      this.build();
    }

    append(update) {
      const fits = this.state.append(update);
      if (fits && this.tree) this.rebuild();
      else if (fits) this.build();
      return fits;
    }

    destroy() {
      clearInterval(this.timer);
      if (this.writeLink) this.writeLink.cancel();
      this.stopListening();
      this.stopWatching();
      if (this.tree) this.tree.destroy();
      this.element.replaceChildren();
      this.element.classList.remove("recap-player", "rp-presenting", "rp-veiled");
      mounted.delete(this.element);
    }
  }

  function clean(place) {
    const kept = {};
    for (const name of PLACE) if (place[name] !== undefined) kept[name] = place[name];
    return kept;
  }

  recap.mountReport = function (element, payload, options) {
    if (mounted.has(element)) mounted.get(element).destroy();
    mounted.set(element, new recap.Report(element, payload, options));
    return { state: () => null };
  };

  recap.mount = function (element, payload, options) {
    if (mounted.has(element)) mounted.get(element).destroy();
    const player = new Player(element, payload || null, options || {});
    const outside = {
      append: (update) => player.append(update),
      setPayload: (next, where) => player.setPayload(next || null, where),
      goTo: (place) => player.goTo(place),
      tellLab: (told) => player.change(() => { player.state.lab = told; }),
      state: () => player.state.place(),
      destroy: () => player.destroy(),
    };
    mounted.set(element, player);
    return outside;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
