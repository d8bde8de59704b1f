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

    build(state) {
      const keys = state.payload.theme.keys;
      this.spans = state.run.text.map((span) => {
        const proposer = span[SPAN.proposer];
        // A line break is shown by its sign and also breaks the line.
        const text = span[SPAN.text].replace(/\n/g, "\u21b5\n").replace(/\t/g, "\u21e5\t");
        return h("bdi", {
          class: `rp-token rp-by-${proposer}`, "data-pass": span[SPAN.pass], "data-token-id": span[SPAN.token],
          "data-node": span[SPAN.node] === null ? "" : span[SPAN.node], "data-proposer": proposer,
          title: `${keys[proposer]}, ${span[SPAN.pass] ? "pass " + span[SPAN.pass] : "prompt"}`,
        }, text);
      });
      this.root.replaceChildren(...this.spans);
      this.root.setAttribute("aria-label", words.text);
    }

    update(state) {
      let last = null;
      state.run.text.forEach((token, index) => {
        const span = this.spans[index];
        const shown = state.isShown(token);
        span.hidden = !shown;
        span.classList.toggle("rp-is-now", shown && token[SPAN.pass] === state.step);
        if (shown) last = span;
      });
      this.last = last;
      // Reading a place makes the browser lay the page out: once a frame is enough.
      if (!this.pending) this.pending = requestAnimationFrame(() => { this.pending = 0; this.scroll(); });
    }

    scroll() {
      if (this.last) this.root.scrollTop = Math.max(0, this.last.offsetTop - this.root.clientHeight + this.last.offsetHeight + 12);
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
