// The page around the player: header, the panel "Try yours", its notes, and which run is open. Each function draws one
// component of the page; all text is set as text, so that nothing typed or decoded can become markup.
window.RecapPage = (function () {
  "use strict";

  // What stands before a lesson's name in the list; no run's name holds a colon.
  const LESSON = "lesson:";
  // What the address tells of a place, under the names that the player uses.
  const PLACE = ["step", "substep", "node"];
  const page = { plotly: null, player: null, texts: {}, current: null, wait: 0 };

  function make(tag, properties, children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name === "class") element.className = value;
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children || []) if (child !== null) element.append(child);
    return element;
  }

  // -- header ---------------------------------------------------------------------------------------------------------

  function header(element, props) {
    const value = props.value;
    const choice = make("select", { id: "recap-choice", "aria-label": value.recorded, "data-testid": "recap-choice", onchange: (event) => openChoice(event.target.value) },
      [group(value.runs_title, value.runs, ""), group(value.lessons_title, value.lessons, LESSON)]);
    page.options = value.options;
    page.choice = window.RecapPlayer.givingKeysBack(choice);
    const panelButton = make("button", { type: "button", id: "recap-try", class: "recap-primary", "aria-expanded": "false", "aria-controls": "recap-panel", onclick: () => showPanel(!isPanelShown()) }, [value.try]);
    page.tryTexts = { true: value.close, false: value.try };
    element.querySelector("header").replaceChildren(
      make("h1", {}, [value.title]), make("p", {}, [value.subtitle]),
      make("nav", {}, [
        choice,
        make("button", { type: "button", class: "recap-quiet", title: value.open_hint, onclick: () => document.querySelector("#recap-open-trace input, input#recap-open-trace")?.click() ?? document.querySelector("#recap-open-trace").click() }, [value.open]),
        make("a", { id: "recap-save", class: "recap-quiet", download: "", hidden: "", "data-testid": "recap-save" }, [value.save]),
        make("button", { type: "button", class: "recap-quiet recap-icon", "aria-label": value.theme, title: value.theme, onclick: () => document.body.classList.toggle("dark") }, ["◐"]),
        panelButton,
      ]));
    if (!value.runs.length) choice.hidden = true;
  }

  // A group of the list; its own heading is left out where it is empty.
  function group(title, entries, prefix) {
    if (!entries.length) return null;
    return make("optgroup", { label: title }, entries.map((entry) => make("option", { value: prefix + entry.name }, [entry.title])));
  }

  const openChoice = (value) => (value.startsWith(LESSON) ? openLesson(value.slice(LESSON.length), 1) : openRecorded(value, {}));

  // -- the panel ------------------------------------------------------------------------------------------------------

  const panel = () => document.getElementById("recap-panel");
  const isPanelShown = () => document.body.classList.contains("recap-trying");

  function showPanel(isShown) {
    document.body.classList.toggle("recap-trying", isShown);
    const button = document.getElementById("recap-try");
    button.setAttribute("aria-expanded", String(isShown));
    button.textContent = page.tryTexts[isShown];
    panel().inert = !isShown;
    // The panel itself: what is in it can be seen, and so be focused, only when gradio's transitions have begun.
    (isShown ? panel() : button).focus({ preventScroll: true });
  }

  function examples(element, props, watch, trigger) {
    const value = props.value;
    panel().inert = true;
    panel().tabIndex = -1;
    document.addEventListener("keydown", (event) => {
      // Asked on the way down: an open list of choices closes by the same key, and would look closed already.
      const closesList = event.target.getAttribute?.("aria-expanded") === "true" && event.target.id !== "recap-try";
      if (event.key === "Escape" && isPanelShown() && !closesList) showPanel(false);
    }, true);
    const count = value.examples.length;
    if (!count) return;
    const columns = Math.ceil(count / Math.ceil(count / 6)); // rows of one length, as far as may be
    element.querySelector("div").replaceChildren(
      make("h2", {}, [value.title]),
      make("div", { class: "recap-gallery", style: `--recap-columns: ${columns}` }, value.examples.map((example, index) =>
        make("button", { type: "button", title: example.question, "aria-label": example.question, "data-testid": `recap-example-${index}`, onclick: () => trigger("click", { index }) },
          [make("img", { src: example.thumbnail, alt: "" })]))));
  }

  // Another picture: what was said of the one before is over, here and now. What comes later is said of something new.
  function choosePicture(values) {
    page.calm();
    return values;
  }

  // -- notes ----------------------------------------------------------------------------------------------------------

  function note(element, props, watch) {
    const paragraph = element.querySelector("p");
    let hiding = 0;
    const draw = () => {
      const value = props.value || {};
      paragraph.textContent = value.sentence || "";
      paragraph.className = `recap-note recap-${value.kind}`;
      paragraph.setAttribute("role", value.kind === "error" ? "alert" : "note");
      paragraph.hidden = !value.sentence;
      clearTimeout(hiding);
      if (props.passing && value.sentence) hiding = setTimeout(() => { paragraph.hidden = true; }, 10000);
    };
    watch("value", draw);
    draw();
  }

  function status(element, props, watch) {
    const box = element.querySelector("div");
    const sentence = make("p", { "aria-live": "polite", "data-testid": "recap-status" });
    const model = make("p", { class: "recap-note", "data-testid": "recap-model" });
    const lanes = make("div", { class: "recap-lanes" });
    box.replaceChildren(sentence, lanes, model);
    let act = 0;
    const first = props.value || {};
    const show = (value) => {
      sentence.textContent = value.sentence || "";
      box.className = `recap-status recap-${value.kind}`;
      box.dataset.act = value.act || "";
      lanes.replaceChildren(...(value.lanes || []).map((lane) => make("section", {}, [
        make("h3", {}, [lane.label, make("span", {}, [lane.figures])]),
        make("pre", {}, [lane.text]),
      ])));
      for (const text of lanes.querySelectorAll("pre")) text.scrollTop = text.scrollHeight;
      if (value.kind === "error") box.scrollIntoView({ block: "nearest" });
    };
    watch("value", () => {
      const value = props.value || {};
      if (value.act < act) return; // a late answer to something that was done before
      act = value.act || act;
      show(value);
    });
    show(first);
    page.calm = () => { if (/recap-(error|done)/.test(box.className)) show(first); };
    watchModel(model);
  }

  // Until the model is there, once a second; then never again.
  async function watchModel(element) {
    let state = { state: "loading", sentence: "" };
    try {
      state = await (await fetch("recap/model", { cache: "no-store" })).json();
    } catch { /* the server may be starting again: ask once more */ }
    element.textContent = state.sentence;
    element.hidden = !state.sentence || state.state === "none";
    if (state.state === "loading") setTimeout(() => watchModel(element), 1000);
  }

  // The picture lab: the player asks and shows; this part carries the question to the server and the answer back.
  function lab(element, props, watch, trigger) {
    page.askLab = (url) => trigger("click", { url });
    watch("value", () => {
      const value = props.value || {};
      if (page.current && page.current.url === value.url && page.player.tellLab) page.player.tellLab(value);
    });
  }

  // -- the player -----------------------------------------------------------------------------------------------------

  function player(element, props, watch) {
    page.element = element.querySelector(".recap-mount");
    page.texts = props.value;
    const query = new URLSearchParams(window.location.search);
    const names = props.value.recorded;
    const asked = query.get("run") ?? names[0]; // an address may name a pass alone
    const named = names.includes(asked);
    const where = {};
    for (const part of PLACE) {
      const number = Number.parseInt(query.get(part), 10);
      if (named && Number.isInteger(number)) where[part] = number;
    }
    if (named && query.get("method")) where.run = query.get("method");
    if (named && query.get("view") === "compare") where.view = "compare";
    if (props.value.lessons.includes(query.get("lesson"))) openLesson(query.get("lesson"), Number.parseInt(query.get("part"), 10) || 1);
    else if (names.length) openRecorded(named ? asked : names[0], where);
    else mount(null, {}, props.value.empty);
    watch("value", () => {
      const value = props.value || {};
      if (value.url) open({ kind: value.kind, url: value.url }, {});
    });
  }

  const openRecorded = (name, where) => open({ kind: "recorded", name, url: `recap/recorded/${encodeURIComponent(name)}` }, where);

  async function openLesson(name, part) {
    const wait = ++page.wait;
    page.element.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`recap/lessons/${encodeURIComponent(name)}`);
      const told = await answer.json();
      if (!answer.ok) throw new Error(told.sentence);
      if (wait === page.wait) openRecorded(told.run, { lesson: told.lesson, lessonStep: part });
    } catch (error) {
      if (wait === page.wait) page.element.removeAttribute("aria-busy");
      if (wait === page.wait && !page.current) mount(null, {}, error.message || page.texts.failed);
      chooseOption(page.current);
    }
  }

  // Fetches a run and shows it. When it fails, the run that was there stays.
  async function open(source, where) {
    const wait = ++page.wait;
    if (!page.player) mount(null, {}, page.texts.loading);
    page.element.setAttribute("aria-busy", "true");
    let payload;
    try {
      const answer = await fetch(`${source.url}/payload`);
      payload = await answer.json();
      if (!answer.ok) throw new Error(payload.sentence);
      if (payload.kind === "report") await plotly();
    } catch (error) {
      if (wait === page.wait && !page.current) mount(null, {}, error.message || page.texts.failed);
      chooseOption(page.current);
      return;
    } finally {
      if (wait === page.wait) page.element.removeAttribute("aria-busy");
    }
    if (wait !== page.wait) return;
    const isFirst = !page.current;
    page.current = source;
    const links = { trace: `${source.url}/trace`, page: `${source.url}/page` };
    if (payload.kind === "report") page.player = window.RecapPlayer.mountReport(page.element, payload, { links, saveText: page.texts.report_page });
    else {
      const asks = source.kind === "live" ? { lab: { ask: () => page.askLab(source.url), stop: () => document.getElementById("recap-stop").click() } } : {};
      mount(payload, Object.assign({ links }, asks, where));
    }
    chooseOption(source, where.lesson && where.lesson.name);
    if (!isFirst && !where.lesson && source.kind === "recorded") selected(page.player.state());
    const save = document.getElementById("recap-save");
    if (save) {
      save.href = `${source.url}/trace`;
      save.hidden = source.kind === "report";
    }
    if (source.kind !== "recorded") writeAddress({});
    if (source.kind === "live") showPanel(false);
  }

  // plotly.js takes longer than all else on the page: it is asked for when the rest can be seen.
  function plotly() {
    if (!page.plotly) page.plotly = new Promise((resolve, reject) => {
      const load = () => document.head.append(make("script", { src: page.texts.plotly, onload: () => resolve(window.Plotly), onerror: reject }));
      requestAnimationFrame(() => setTimeout(load));
    });
    return page.plotly;
  }

  function mount(payload, where, emptyText) {
    page.player = window.RecapPlayer.mount(page.element, payload, Object.assign({
      height: "calc(100dvh - var(--recap-header))", theme: "auto", plotly: window.Plotly || (payload && plotly()), autoplay: where.step === undefined && where.view === undefined, emptyText, onSelect: selected,
    }, where));
  }

  function selected(place) {
    if (!page.current || page.current.kind !== "recorded") return;
    chooseOption(page.current, place.lesson);
    if (place.lesson) writeAddress({ lesson: place.lesson, part: place.lessonStep });
    else writeAddress({ run: page.current.name, method: place.run, step: place.step, substep: place.substep, node: place.node, view: place.view === "compare" ? place.view : null });
  }

  // Browsers slow an address down that changes with every key press: it follows when the reader rests.
  let timer = 0;
  function writeAddress(place) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const query = new URLSearchParams(window.location.search);
      for (const part of ["lesson", "part", "run", "method", "view", ...PLACE]) {
        if (place[part] === undefined || place[part] === null) query.delete(part);
        else query.set(part, String(place[part]));
      }
      const text = query.toString();
      window.history.replaceState(window.history.state, "", window.location.pathname + (text ? `?${text}` : ""));
    }, 250);
  }

  // The list shows what is open: a run of one's own is an entry of its own, for as long as it is open.
  function chooseOption(source, lesson) {
    const choice = page.choice;
    if (!choice || !source) return;
    const wanted = lesson ? LESSON + lesson : source.name;
    if (source.kind === "recorded" && choice.value === wanted) return;
    choice.querySelector("option[data-own]")?.remove();
    if (source.kind !== "recorded") {
      const own = make("option", { value: "", "data-own": "" }, [page.options[source.kind]]);
      choice.prepend(own);
      choice.hidden = false;
      own.selected = true;
    } else choice.value = wanted;
  }

  return { header, examples, choosePicture, note, status, lab, player };
})();
