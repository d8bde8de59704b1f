// Key presses. Each one acts at once; none is heard while somebody types.
(function (recap) {
  "use strict";

  function isTyping(event) {
    const target = event.composedPath()[0];
    if (!(target instanceof Element)) return false;
    return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
  }

  const SOURCES = { g: "G", c: "C", u: "U", s: "suffix" };
  const PAGES = { v: "toggleView", p: "togglePresenting", e: "openExport" };
  const TABS = { 1: "fusion", 2: "memory", 3: "table", 4: "rules", 5: "lab" };

  recap.listen = function (target, act) {
    function onKey(event) {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      const focused = event.composedPath()[0];
      const isButton = focused instanceof Element && focused.closest("button, a, summary, [role=button]");
      const name = event.key;
      if (act.isDialogOpen()) { if (name === "?") act.toggleHelp(); return; }
      if (name === "ArrowRight") (event.shiftKey ? act.moveInside : act.move)(1);
      else if (name === "ArrowLeft") (event.shiftKey ? act.moveInside : act.move)(-1);
      else if (name === "ArrowDown") act.moveNode(1);
      else if (name === "ArrowUp") act.moveNode(-1);
      else if (name === "Home") act.goTo({ step: 1 });
      else if (name === "End") act.goTo({ step: Infinity });
      else if (name === " " && !isButton) act.togglePlay(event.shiftKey);
      else if (name === "PageDown" || name === "PageUp") act.moveLesson(name === "PageUp" ? -1 : 1);
      else if (name === "," || name === ".") act.walkText(name === "," ? -1 : 1);
      else if (name === "?") act.toggleHelp();
      else if (name.toLowerCase() in PAGES && !event.repeat) act[PAGES[name.toLowerCase()]]();
      else if (name.toLowerCase() in SOURCES && !event.repeat) act.toggleSource(SOURCES[name.toLowerCase()]);
      else if (name in TABS) act.showTab(TABS[name]);
      else return;
      event.preventDefault();
    }
    target.addEventListener("keydown", onKey);
    return () => target.removeEventListener("keydown", onKey);
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
