// The page around the player: header, the panel "Try yours", its notes, and which run is open. Each function draws one
// component of the page; all text is set as text, so that nothing typed or decoded can become markup.
window.RecapPage = (function () {
  "use strict";

  const page = { player: null, texts: {}, current: null, wait: 0 };

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
    const choice = make("select", { id: "recap-choice", "aria-label": value.recorded, "data-testid": "recap-choice", onchange: (event) => openRecorded(event.target.value, {}) },
      value.runs.map((run) => make("option", { value: run.name }, [run.title])));
    page.options = value.options;
    page.choice = choice;
    const panelButton = make("button", { type: "button", id: "recap-try", class: "recap-primary", "aria-expanded": "false", "aria-controls": "recap-panel", onclick: () => showPanel(!isPanelShown()) }, [value.try]);
    page.tryTexts = { true: value.close, false: value.try };
    element.querySelector("header").replaceChildren(
      make("h1", {}, [value.title]), make("p", {}, [value.subtitle]),
      make("nav", {}, [
        choice,
        make("button", { type: "button", class: "recap-quiet", onclick: () => document.querySelector("#recap-open-trace input, input#recap-open-trace")?.click() ?? document.querySelector("#recap-open-trace").click() }, [value.open]),
        make("a", { id: "recap-save", class: "recap-quiet", download: "", hidden: "", "data-testid": "recap-save" }, [value.save]),
        make("button", { type: "button", class: "recap-quiet recap-icon", "aria-label": value.theme, title: value.theme, onclick: () => document.body.classList.toggle("dark") }, ["◐"]),
        panelButton,
      ]));
    if (!value.runs.length) choice.hidden = true;
  }

  // -- the panel ------------------------------------------------------------------------------------------------------

  const panel = () => document.getElementById("recap-panel");
  const isPanelShown = () => document.body.classList.contains("recap-trying");

  function showPanel(isShown) {
    document.body.classList.toggle("recap-trying", isShown);
    const button = document.getElementById("recap-try");
    button.setAttribute("aria-expanded", String(isShown));
    button.textContent = page.tryTexts[isShown];
    panel().inert = !isShown;
    if (isShown) panel().querySelector("button, textarea")?.focus({ preventScroll: true });
    else button.focus({ preventScroll: true });
  }

  function examples(element, props, watch, trigger) {
    const value = props.value;
    panel().inert = true;
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && isPanelShown()) showPanel(false);
    });
    if (!value.examples.length) return;
    element.querySelector("div").replaceChildren(
      make("h2", {}, [value.title]),
      make("div", { class: "recap-gallery" }, value.examples.map((example, index) =>
        make("button", { type: "button", title: example.question, "aria-label": example.question, "data-testid": `recap-example-${index}`, onclick: () => trigger("click", { index }) },
          [make("img", { src: example.thumbnail, alt: "" })]))));
  }

  // -- notes ----------------------------------------------------------------------------------------------------------

  function note(element, props, watch) {
    const paragraph = element.querySelector("p");
    const draw = () => {
      const value = props.value || {};
      paragraph.textContent = value.sentence || "";
      paragraph.className = `recap-note recap-${value.kind}`;
      paragraph.setAttribute("role", value.kind === "error" ? "alert" : "note");
      paragraph.hidden = !value.sentence;
      if (props.passing && value.sentence) setTimeout(() => { paragraph.hidden = true; }, 10000);
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
    const draw = () => {
      const value = props.value || {};
      sentence.textContent = value.sentence || "";
      box.className = `recap-status recap-${value.kind}`;
      box.dataset.at = value.at || "";
      lanes.replaceChildren(...(value.lanes || []).map((lane) => make("section", {}, [
        make("h3", {}, [lane.label, make("span", {}, [lane.figures])]),
        make("pre", {}, [lane.text]),
      ])));
      for (const text of lanes.querySelectorAll("pre")) text.scrollTop = text.scrollHeight;
    };
    watch("value", draw);
    draw();
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

  // -- the player -----------------------------------------------------------------------------------------------------

  function player(element, props, watch) {
    page.element = element.querySelector(".recap-mount");
    page.texts = props.value;
    const query = new URLSearchParams(window.location.search);
    const names = props.value.recorded;
    const named = names.includes(query.get("run"));
    const where = {};
    for (const part of ["step", "node"]) {
      const number = Number.parseInt(query.get(part), 10);
      if (named && Number.isInteger(number)) where[part] = number;
    }
    if (named && query.get("method")) where.run = query.get("method");
    if (names.length) openRecorded(named ? query.get("run") : names[0], where);
    else mount(null, {}, props.value.empty);
    watch("value", () => {
      const value = props.value || {};
      if (value.url) open({ kind: value.kind, url: value.url }, {});
    });
  }

  const openRecorded = (name, where) => open({ kind: "recorded", name, url: `recap/recorded/${encodeURIComponent(name)}` }, where);

  // Fetches a run and shows it. When it fails, the run that was there stays.
  async function open(source, where) {
    const wait = ++page.wait;
    if (!page.player) mount(null, {}, page.texts.loading);
    let payload;
    try {
      const answer = await fetch(`${source.url}/payload`);
      payload = await answer.json();
      if (!answer.ok) throw new Error(payload.sentence);
    } catch (error) {
      if (wait === page.wait && !page.current) mount(null, {}, error.message || page.texts.failed);
      chooseOption(page.current);
      return;
    }
    if (wait !== page.wait) return;
    const isFirst = !page.current;
    page.current = source;
    mount(payload, where);
    if (!isFirst) selected(page.player.state());
    chooseOption(source);
    const save = document.getElementById("recap-save");
    if (save) {
      save.href = `${source.url}/trace`;
      save.hidden = false;
    }
    if (source.kind !== "recorded") writeAddress({});
    if (source.kind === "live") showPanel(false);
  }

  function mount(payload, where, emptyText) {
    page.player = window.RecapPlayer.mount(page.element, payload, Object.assign({
      height: "calc(100dvh - var(--recap-header))", theme: "auto", autoplay: where.step === undefined, emptyText, onSelect: selected,
    }, where));
  }

  function selected(place) {
    if (!page.current || page.current.kind !== "recorded") return;
    writeAddress({ run: page.current.name, method: place.run, step: place.step, node: place.node });
  }

  // Browsers slow an address down that changes with every key press: it follows when the reader rests.
  let timer = 0;
  function writeAddress(place) {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const query = new URLSearchParams(window.location.search);
      for (const part of ["run", "method", "step", "node"]) {
        if (place[part] === undefined || place[part] === null) query.delete(part);
        else query.set(part, String(place[part]));
      }
      const text = query.toString();
      window.history.replaceState(window.history.state, "", window.location.pathname + (text ? `?${text}` : ""));
    }, 250);
  }

  // The list shows what is open: a run of one's own is an entry of its own, for as long as it is open.
  function chooseOption(source) {
    const choice = page.choice;
    if (!choice || !source) return;
    choice.querySelector("option[data-own]")?.remove();
    if (source.kind !== "recorded") {
      const own = make("option", { value: "", "data-own": "" }, [page.options[source.kind]]);
      choice.prepend(own);
      choice.hidden = false;
      own.selected = true;
    } else choice.value = source.name;
  }

  return { header, examples, note, status, player };
})();
