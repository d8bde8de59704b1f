// The top strip: one number, one sentence, and the methods on one clock.
(function (recap) {
  "use strict";
  const { h, words } = recap;

  function figure(value, caption, note) {
    return h("div", { class: "rp-stat" }, value, h("div", { class: "rp-caption" }, caption), note && h("div", { class: "rp-note" }, note));
  }

  function sameText(totals, act) {
    if (!totals.is_compared) return null;
    const at = totals.first_difference;
    const gap = totals.score_gap === null ? null : recap.rounded(totals.score_gap, 4);
    return h("button", {
      type: "button", title: words.toExactness, onclick: act.showExactness,
      class: "rp-chip " + (at === null ? "rp-good" : "rp-warn"),
      "data-testid": "recap-same-text",
      "data-value": at === null ? "same" : String(at),
      "data-score-gap": totals.score_gap === null ? null : String(totals.score_gap),
    }, at === null ? words.sameText : words.differs(at + 1, gap));
  }

  function header(state, act) {
    const { payload, run, reference } = state;
    const totals = run.totals;
    const image = payload.request.image;
    const environment = run.environment;
    const speed = totals.speedup;
    const caption = run.is_reference ? words.reference
      : speed !== null ? words.asFast : run.is_live ? words.measuring
      : totals.stop_reason === "stopped" ? words.stopped
      : totals.is_compared && !totals.num_passes ? words.nothingDecoded : words.notCompared;
    const speedup = h("span", { class: speed !== null && speed < 1 ? "rp-big rp-slower" : "rp-big", "data-testid": "recap-speedup", "data-value": speed === null ? "" : String(speed) },
      speed === null ? (run.is_reference ? "1\u00d7" : run.is_live ? "\u2026" : "\u2013") : `${recap.rounded(speed, 2)}\u00d7`);
    const tau = recap.number(totals.acceptance_length, 2, { class: "rp-mid", "data-testid": "recap-tau" });
    const passes = recap.number(totals.num_passes, 0, { class: "rp-mid", "data-testid": "recap-passes" });
    const plain = reference && !run.is_reference ? words.plainPasses(reference.totals.num_passes) : null;
    const device = `${environment.device} \u00b7 ${environment.dtype}` + (payload.model ? ` \u00b7 ${payload.model}` : "");
    return h("header", { class: "rp-summary" },
      h("div", { class: "rp-question" },
        image && h("img", { src: image.thumbnail, alt: "", class: "rp-picture" }),
        h("div", { class: "rp-asked" },
          h("div", { class: "rp-ask", dir: "auto", title: payload.request.question }, payload.request.question),
          h("p", { class: "rp-sentence", "data-testid": "recap-sentence" }, run.sentence),
          h("div", { class: "rp-badges" }, sameText(totals, act), h("span", { class: "rp-device" }, device)))),
      h("div", { class: "rp-stats" }, figure(speedup, caption), figure(tau, words.tau), figure(passes, words.passes, plain)));
  }

  function lane(run, scale, name, isNow) {
    const track = h("div", { class: "rp-track" });
    let start = 0;
    run.ends.forEach((end, index) => {
      track.append(h("i", {
        class: index ? "rp-block" : "rp-block rp-prefill",
        style: { left: `${(100 * start) / scale}%`, width: `${(100 * (end - start)) / scale}%` },
      }));
      start = end;
    });
    const future = h("b", { class: "rp-future" });
    track.append(future);
    const count = h("span", { class: "rp-lane-count" });
    const row = h("div", { class: "rp-lane" + (run.is_reference ? " rp-lane-plain" : "") }, h("span", { class: "rp-lane-name", title: run.name }, name), track, count);
    row.classList.toggle("rp-lane-now", isNow);
    return { run, row, future, count };
  }

  // How many tokens of a run stood there at a time of the shared clock.
  function tokensAt(run, seconds) {
    let passes = -1;
    while (passes + 1 < run.ends.length && run.ends[passes + 1] <= seconds + 1e-12) passes += 1;
    let tokens = 0;
    while (tokens < run.text.length && run.text[tokens][recap.SPAN.pass] <= passes) tokens += 1;
    return tokens;
  }

  // The run's measured clock at the end of the stage that is shown; while the tree grows, at the start of its pass.
  recap.clockOf = function (state) {
    const { ends } = state.run;
    if (!state.pass) return ends[ends.length - 1] || 0;
    const [draft, verify, commit] = state.pass.seconds;
    const start = ends[state.step - 1];
    const after = { grow: start, suffix: start + draft, verify: start + draft + verify, commit: start + draft + verify + commit };
    const stage = state.stage().name;
    return stage in after ? after[stage] : ends[state.step];
  };

  recap.Summary = class {
    constructor(root, act) { this.root = root; this.act = act; }

    build(state) {
      const pair = state.reference && !state.run.is_reference ? [state.reference, state.run] : [state.run];
      const runs = state.view === "compare" ? state.comparedRuns() : pair;
      const scale = Math.max(...runs.map((run) => run.ends[run.ends.length - 1])) || 1;
      this.scale = scale;
      this.lanes = runs.map((run) => lane(run, scale, recap.runLabel(run), run === state.run));
      this.cursor = h("div", { class: "rp-cursor" });
      this.clock = h("div", { class: "rp-clock" });
      const tracks = h("div", { class: "rp-lanes", role: "img", "aria-label": words.lanes, "data-testid": "recap-lanes" },
        this.lanes.map((item) => item.row), h("div", { class: "rp-cursor-space" }, this.cursor));
      this.root.replaceChildren(header(state, this.act), tracks);
    }

    update(state) {
      const now = recap.clockOf(state);
      const share = `${(100 * now) / this.scale}%`;
      this.cursor.style.left = share;
      this.cursor.dataset.value = String(now);
      for (const item of this.lanes) {
        item.future.style.left = share;
        const tokens = item.run === state.run ? state.shownTokens() : tokensAt(item.run, now);
        item.count.replaceChildren(recap.number(tokens, 0), words.ofTokens(item.run.totals.num_tokens));
      }
      this.cursor.dataset.time = recap.seconds(now);
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
