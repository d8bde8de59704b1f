// What a screen reader hears when the reader moves: the pass or the step that came, and the node that was chosen. While
// the run plays or grows it is silent.
(function (recap) {
  "use strict";
  const { h, words, NODE } = recap;

  function nodeHeard(state) {
    const node = state.pass && state.pass.nodes && state.pass.nodes[state.node];
    if (!node) return "";
    const form = state.form(node[NODE.token]);
    if (!state.node) return words.heardRoot(form);
    const verdict = state.isJudged() ? state.pass.accepted.includes(state.node) : null;
    const numbers = [node[NODE.q], node[NODE.score]].map((value) => (value === null ? null : recap.rounded(value, 4)));
    return words.heardNode(state.node, state.pass.nodes.length - 1, form, state.payload.theme.keys[node[NODE.source]], node[NODE.depth], ...numbers, verdict);
  }

  recap.Heard = class {
    constructor(root, state) {
      this.element = h("div", { class: "rp-heard", role: "status", "data-testid": "recap-heard" });
      this.remember(state);
      root.append(this.element);
    }

    // Whether the reader has moved since, to another step or to another node.
    remember(state) {
      const step = `${state.run.name}/${state.step}/${state.substep}/${state.view}`;
      const moved = { step: step !== this.step, node: state.node !== this.node };
      this.step = step;
      this.node = state.node;
      return moved;
    }

    update(state) {
      const moved = this.remember(state);
      if (state.playing || state.run.is_live || !(moved.step || moved.node)) return;
      const place = `${recap.runLabel(state.run)}, ${words.passOf(state.step, state.numSteps)}.`;
      const told = !moved.step ? "" : state.view === "compare" ? place : `${place} ${recap.stageSentence(state)}`;
      const node = state.view === "compare" ? "" : nodeHeard(state);
      this.element.textContent = [told, node].filter(Boolean).join(" ");
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
