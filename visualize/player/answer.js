// The answer so far, each token marked by what proposed it; a click goes to its pass.
(function (recap) {
  "use strict";
  const { h, words, SPAN } = recap;

  recap.Answer = class {
    constructor(root, onJump) {
      this.root = root;
      root.addEventListener("click", (event) => {
        const span = event.target.closest("[data-pass]");
        if (span) onJump(Math.max(1, Number(span.dataset.pass)), span.dataset.node === "" ? null : Number(span.dataset.node));
      });
    }

    // The keyboard's way to a token: on from the one that was chosen last, or from the newest.
    walk(by) {
      if (!this.spans.length) return null;
      const at = this.chosen ? this.spans.indexOf(this.chosen) + by : this.spans.findLastIndex((span) => !span.hidden) + (by > 0 ? 1 : 0);
      const next = this.spans[Math.min(Math.max(at, 0), this.spans.length - 1)];
      this.choose(next);
      return { step: Math.max(1, Number(next.dataset.pass)), node: next.dataset.node === "" ? null : Number(next.dataset.node) };
    }

    choose(span) {
      if (this.chosen) this.chosen.classList.remove("rp-is-chosen");
      this.chosen = span;
      if (span) span.classList.add("rp-is-chosen");
    }

    build(state) {
      this.chosen = null;
      const keys = state.payload.theme.keys;
      this.spans = state.run.text.map((span) => {
        const proposer = span[SPAN.proposer];
        // A line break is shown by its sign and also breaks the line.
        const text = span[SPAN.text].replace(/\n/g, "\u21b5\n").replace(/\t/g, "\u21e5\t");
        return h("bdi", {
          class: `rp-token rp-by-${proposer}`, "data-pass": span[SPAN.pass], "data-token-id": span[SPAN.token],
          "data-node": span[SPAN.node] === null ? "" : span[SPAN.node], "data-proposer": proposer,
          title: words.proposedIn(keys[proposer], span[SPAN.pass]),
        }, text);
      });
      this.root.replaceChildren(...this.spans);
      this.root.setAttribute("aria-label", words.text);
    }

    update(state) {
      let last = null;
      const owed = recap.labPositions(state);
      state.run.text.forEach((token, index) => {
        const span = this.spans[index];
        const shown = state.isShown(token);
        span.hidden = !shown;
        span.classList.toggle("rp-owed", owed.has(index));
        span.classList.toggle("rp-is-now", shown && token[SPAN.pass] === state.step);
        if (shown) last = span;
      });
      this.last = last;
      // Reading a place makes the browser lay the page out: once a frame is enough.
      if (!this.pending) this.pending = requestAnimationFrame(() => { this.pending = 0; this.scroll(); });
    }

    // The newest line stands at the bottom, and no line is cut: marks may reach a little below theirs.
    scroll() {
      if (!this.last) return;
      const line = Number.parseFloat(getComputedStyle(this.root).lineHeight);
      const lines = 1 + Math.floor((this.last.offsetTop + this.last.offsetHeight) / line - 0.3);
      this.root.scrollTop = Math.max(0, lines * line - this.root.clientHeight);
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
