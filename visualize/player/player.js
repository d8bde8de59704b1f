// The player: puts the parts together, and is the only one that the page calls.
//   const player = window.RecapPlayer.mount(element, payload, options)
(function (recap) {
  "use strict";
  const { h, words } = recap;
  const STEP_MILLISECONDS = 900;
  const mounted = new WeakMap();

  class Player {
    constructor(element, payload, options) {
      this.element = element;
      this.options = Object.assign({ link: false, autoplay: false, height: "100vh", theme: "auto", keys: "document" }, options);
      this.calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      const start = { run: this.options.run, step: this.options.step, node: this.options.node };
      if (this.options.link) Object.assign(start, recap.readLink());
      this.state = new recap.State(payload, clean(start));
      this.writeLink = this.options.link ? recap.linkWriter() : null;
      this.act = {
        goTo: (place) => this.goTo(place),
        move: (by) => this.change(() => this.state.move(by)),
        moveInside: (by) => this.change(() => this.state.moveInside(by)),
        moveNode: (by) => this.change(() => { this.state.moveNode(by); this.state.tab = this.state.tab === "memory" ? "fusion" : this.state.tab; }),
        togglePlay: () => this.setPlaying(!this.state.playing),
        setSpeed: (speed) => { this.state.speed = speed; if (this.state.playing) this.setPlaying(true); },
        toggleSource: (source) => this.change(() => { if (!this.state.hidden.delete(source)) this.state.hidden.add(source); }),
        showTab: (tab) => this.change(() => { this.state.tab = tab; }),
        toggleHelp: () => (this.help.open ? this.help.close() : this.help.showModal()),
        isHelpOpen: () => Boolean(this.help && this.help.open),
      };
      element.classList.add("recap-player");
      element.setAttribute("tabindex", "-1");
      element.style.setProperty("--rp-height", this.options.height);
      this.stopListening = recap.listen(this.options.keys === "element" ? element : document, this.act);
      this.stopWatching = recap.watchTheme(() => this.retheme());
      this.build();
      if (this.options.autoplay && !this.calm) this.setPlaying(true);
    }

    build() {
      if (this.tree) { this.tree.destroy(); this.tree = null; }
      if (!this.state.run) {
        this.element.replaceChildren(h("p", { class: "rp-message" }, this.options.emptyText || words.empty));
        this.retheme();
        return;
      }
      const summary = h("div", { class: "rp-top" });
      const stages = h("div", { class: "rp-tree-head" });
      const plot = h("div", { class: "rp-tree", role: "img", "aria-label": words.tree, "data-testid": "recap-tree" });
      this.legend = h("div", { class: "rp-legend", role: "group" });
      this.tabs = h("div", { class: "rp-tabs", role: "tablist" });
      this.panel = h("div", { class: "rp-panel-body", role: "tabpanel", tabindex: "0" });
      const answer = h("div", { class: "rp-answer", role: "region", tabindex: "0", "data-testid": "recap-text" });
      const bar = h("div", { class: "rp-bar-row" });
      this.help = recap.helpDialog();
      this.element.replaceChildren(summary,
        h("div", { class: "rp-middle" },
          h("section", { class: "rp-card rp-tree-card" }, stages, plot, this.legend),
          h("section", { class: "rp-card rp-side" }, this.tabs, this.panel)),
        h("section", { class: "rp-card" }, answer), h("section", { class: "rp-card" }, bar), this.help);
      this.summary = new recap.Summary(summary);
      this.stages = new recap.Stages(stages, this.act);
      this.tree = new recap.Tree(plot, this.options.plotly, (node) => this.goTo({ node }));
      this.answer = new recap.Answer(answer, (step, node) => this.goTo({ step, node }));
      this.controls = new recap.Controls(bar, this.act);
      this.rebuild();
    }

    // What depends on the run; stepping only updates.
    rebuild() {
      this.summary.build(this.state);
      this.answer.build(this.state);
      this.controls.build(this.state);
      this.addRunChoice();
      this.retheme();
    }

    addRunChoice() {
      const runs = this.state.payload.runs;
      if (runs.length < 2) return;
      const choice = h("select", { class: "rp-select rp-run", "aria-label": words.run, "data-testid": "recap-run-select", onchange: (event) => this.goTo({ run: event.target.value, step: 1, node: null }) },
        runs.map((run) => h("option", { value: run.name, selected: run === this.state.run }, run.name)));
      this.element.querySelector(".rp-badges").prepend(choice);
    }

    retheme() {
      this.theme = recap.themeName(this.options.theme);
      this.element.dataset.theme = this.theme;
      if (this.state.payload) {
        const palette = this.state.payload.theme.palettes[this.theme];
        for (const [role, colour] of Object.entries(palette)) this.element.style.setProperty(`--rp-${role}`, colour);
      }
      this.update();
    }

    update() {
      const state = this.state;
      if (!state.run || !this.tree) return;
      this.controls.update(state);
      this.summary.update(state);
      this.stages.update(state);
      this.answer.update(state);
      recap.drawLegend(this.legend, state, this.act);
      this.drawPanel();
      this.tree.schedule(state, this.theme);
    }

    drawPanel() {
      const { state } = this;
      this.tabs.replaceChildren(...Object.entries(words.tabs).map(([name, label]) =>
        h("button", { type: "button", role: "tab", class: "rp-tab", "aria-selected": state.tab === name ? "true" : "false", "data-tab": name, onclick: () => this.act.showTab(name) }, label,
          name === "memory" && state.pass && state.pass.writes ? h("span", { class: "rp-count" }, `+${state.pass.writes.length}`) : null)));
      const draw = { fusion: recap.fusionPanel, memory: recap.memoryPanel, table: recap.tablePanel }[state.tab];
      const scroll = this.panelTab === state.tab ? this.panel.scrollTop : 0;
      this.panel.setAttribute("data-testid", `recap-${state.tab}`);
      this.panel.replaceChildren(draw(state, (node) => this.goTo({ node })));
      this.panel.scrollTop = scroll;
      this.panelTab = state.tab;
    }

    change(how) {
      if (!this.state.run) return;
      const run = this.state.run;
      const focus = this.focusPath();
      how();
      if (run === this.state.run) this.update(); else this.rebuild();
      this.restoreFocus(focus);
      const place = this.state.place();
      if (this.writeLink) this.writeLink(place);
      if (this.options.onSelect) this.options.onSelect({ run: place.run, step: place.step, node: place.node });
    }

    // Small groups of buttons are drawn anew; the keyboard's focus must stay on the one that was pressed.
    focusPath() {
      const focused = document.activeElement;
      const group = focused && focused.closest(".rp-stages, .rp-legend, .rp-tabs");
      return group && this.element.contains(group) ? [group, Array.from(group.children).indexOf(focused)] : null;
    }

    restoreFocus(focus) {
      if (focus && focus[0].children[focus[1]]) focus[0].children[focus[1]].focus({ preventScroll: true });
    }

    setPlaying(playing) {
      clearInterval(this.timer);
      this.change(() => {
        if (playing && !this.state.playing && this.state.step >= this.state.numSteps) this.state.goTo({ step: 1 });
        this.state.playing = playing;
      });
      if (playing) this.timer = setInterval(() => {
        if (this.state.step >= this.state.numSteps && !(this.state.run && this.state.run.is_live)) this.setPlaying(false);
        else this.act.move(1);
      }, STEP_MILLISECONDS / this.state.speed);
    }

    goTo(place) { this.change(() => this.state.goTo(clean(place))); }

    setPayload(payload, where) {
      const start = where || {};
      const kept = start.keep ? this.state.place() : {};
      clearInterval(this.timer);
      this.state.playing = false;
      this.state.load(payload, clean(Object.assign({}, start.keep ? { run: kept.run, step: kept.step, node: kept.node } : {}, start)));
      this.build();
    }

    append(update) {
      const fits = this.state.append(update);
      if (fits && this.tree) this.rebuild();
      else if (fits) this.build();
      return fits;
    }

    place() { return this.state.place(); }

    destroy() {
      clearInterval(this.timer);
      if (this.writeLink) this.writeLink.cancel();
      this.stopListening();
      this.stopWatching();
      if (this.tree) this.tree.destroy();
      this.element.replaceChildren();
      this.element.classList.remove("recap-player");
      mounted.delete(this.element);
    }
  }

  function clean(place) {
    const kept = {};
    for (const name of ["run", "step", "substep", "node"]) if (place[name] !== undefined) kept[name] = place[name];
    return kept;
  }

  recap.mount = function (element, payload, options) {
    if (mounted.has(element)) mounted.get(element).destroy();
    const player = new Player(element, payload || null, options || {});
    const outside = {
      append: (update) => player.append(update),
      setPayload: (next, where) => player.setPayload(next || null, where),
      goTo: (place) => player.goTo(place),
      state: () => player.place(),
      destroy: () => player.destroy(),
    };
    mounted.set(element, player);
    return outside;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
