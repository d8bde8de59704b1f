// What a reader can do, by key, by button or by a click: every way in ends here.
(function (recap) {
  "use strict";

  recap.actions = function (player) {
    const { state } = player;
    // A lesson's open question keeps the verdict: the run waits with it.
    const unlessAsked = (how, isWhole) => { if (!(player.lesson && player.lesson.isWaiting)) player.change(how, isWhole); };
    const act = {
      state: () => state,
      tree: () => player.tree,
      goTo: (place) => player.goTo(place),
      move: (by) => unlessAsked(() => state.move(by)),
      moveInside: (by) => unlessAsked(() => state.moveInside(by)),
      moveNode(by) {
        if (state.view === "compare") { act.switchBy(by); return; }
        player.change(() => { state.moveNode(by); if (state.tab === "memory") state.tab = "fusion"; });
      },
      walkText(by) {
        if (!state.run || player.lesson.isWaiting) return;
        const place = player.answer.walk(by);
        if (place) player.goTo(place);
      },
      togglePlay: (inside) => { if (!(player.lesson && player.lesson.isWaiting)) player.setPlaying(!state.playing, inside); },
      setSpeed: (speed) => { state.speed = speed; if (state.playing) player.setPlaying(true, state.playsInside); },
      toggleSource: (source) => player.change(() => { if (!state.hidden.delete(source)) state.hidden.add(source); }),
      showTab: (tab) => { if (player.tabNames().includes(tab)) player.change(() => { state.tab = tab; }); },
      toggleHelp: () => { if (player.help) toggle(player.help); },
      openExport: () => { if (state.run) player.exports.open_(); },
      isDialogOpen: () => Boolean(player.element.querySelector("dialog[open]")),
      toggleView: () => act.showView(state.view === "compare" ? "tree" : "compare"),
      showExactness: () => act.showView("compare"),
      showView: (view) => { if (state.run && state.payload.runs.length > 1) unlessAsked(() => { state.view = view; }, true); },
      switchRun: (run) => player.change(() => state.switchRun(run)),
      switchBy(by) {
        const runs = state.comparedRuns();
        act.switchRun(runs[(runs.indexOf(state.run) + by + runs.length) % runs.length]);
      },
      toggleRun: (name) => player.change(() => {
        const names = state.comparedRuns().map((run) => run.name);
        state.compared = names.includes(name) ? names.filter((each) => each !== name) : [...names, name];
      }, true),
      togglePresenting: () => player.change(() => { state.isPresenting = !state.isPresenting; }, true),
      refresh: () => player.change(() => {}),
      closeLesson: () => player.change(() => player.lesson.load(null)),
      moveLesson: (by) => { if (player.lesson && player.lesson.isOpen && !(by > 0 && player.lesson.isWaiting)) player.lesson.go(by); },
      enterStep: (step) => player.change(() => {
        state.view = "tree";
        state.goTo({ run: step.run, step: step.pass });
        if (step.stage) state.enterStage(step.stage, step.grown);
        if (step.node !== null) state.goTo({ node: step.node });
        if (step.panel) state.tab = step.panel;
      }, state.view !== "tree"),
    };
    return act;
  };

  function toggle(dialog) { if (dialog.open) dialog.close(); else dialog.showModal(); }

  // What is drawn anew takes the keyboard's focus with it. It goes back to the same control where that is still there,
  // else to the panel, or to the player as a whole. In the panel a control is the same where it says the same.
  const PANEL = ".rp-panel-body";
  const GROUPS = `.rp-stages, .rp-legend, .rp-tabs, .rp-toggles, .rp-lesson-foot, .rp-choices, .rp-memory, .rp-badges, .rp-compare-table, ${PANEL}`;
  const controls = (group) => Array.from(group.querySelectorAll("button, input, select"));

  recap.rememberFocus = function (element) {
    const focused = document.activeElement;
    if (!focused || focused === element || !element.contains(focused)) return null;
    const group = focused.closest(GROUPS);
    if (!group) return { element };
    return { element, name: group.className, index: controls(group).indexOf(focused), text: group.matches(PANEL) ? focused.textContent : null };
  };

  recap.restoreFocus = function (focus) {
    if (!focus) return;
    const { element, name, index, text } = focus;
    const isLost = () => !element.contains(document.activeElement);
    const group = isLost() && name && element.querySelector(`.${name.split(" ").join(".")}`);
    const every = group ? controls(group) : [];
    const alike = text === null ? every.slice(index, index + 1) : every.filter((control) => control.textContent === text);
    const far = (control) => Math.abs(every.indexOf(control) - index);
    const child = alike.sort((one, other) => far(one) - far(other))[0];
    if (child) {
      child.focus({ preventScroll: true });
      if (child.matches(".rp-search")) child.setSelectionRange(child.value.length, child.value.length);
    }
    for (const place of [element.querySelector(PANEL), element]) if (isLost() && place) place.focus({ preventScroll: true });
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
