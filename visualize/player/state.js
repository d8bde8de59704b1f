// Where the reader stands: run, pass, step inside the pass, node. No element is touched here.
(function (recap) {
  "use strict";

  // Places of a node's values in the payload, in the order that pass_payload.py sends them.
  recap.NODE = { token: 0, parent: 1, depth: 2, pop: 3, source: 4, q: 5, score: 6, greedy: 7, scores: 8, retrieved: 9, kept: 10 };
  recap.FOUND = { source: 0, key: 1, row: 2, prior: 3, confidence: 4, weight: 5, age: 6 };
  recap.ROW = { ids: 0, probabilities: 1, confidence: 2, request: 3, pass: 4 };
  recap.MOST_COMPARED = 4;
  recap.SPAN = { text: 0, proposer: 1, pass: 2, node: 3, token: 4 };

  class State {
    constructor(payload, start) {
      this.hidden = new Set();
      this.playing = false;
      this.speed = 1;
      this.tab = "fusion";
      this.view = "tree";
      this.compared = null;
      this.isPresenting = false;
      this.playsInside = false;
      this.load(payload, start || {});
    }

    load(payload, start) {
      this.payload = payload;
      this.lab = null;
      const runs = payload ? payload.runs : [];
      const named = runs.findIndex((run) => run.name === start.run);
      const first = runs.findIndex((run) => !run.is_reference);
      this.runIndex = named >= 0 ? named : Math.max(first, 0);
      this.substep = null;
      this.node = null;
      this.step = 0;
      this.goTo(start);
    }

    get run() { return this.payload ? this.payload.runs[this.runIndex] : null; }
    get reference() { return this.payload ? this.payload.runs.find((run) => run.is_reference) || null : null; }
    get numSteps() { return this.run ? this.run.passes.length : 0; }
    get pass() { return this.numSteps ? this.run.passes[this.step - 1] : null; }
    form(id) { const form = this.payload.tokens[id]; return form === undefined ? `\u27e8id ${id}\u27e9` : form; }

    // The steps inside the pass: one per node that the search made, then suffix, verify, commit, write back.
    stages() {
      const pass = this.pass;
      if (!pass || !pass.nodes) return [];
      const fused = pass.nodes.filter((node) => node[recap.NODE.source] !== "suffix").length;
      const stages = [];
      for (let made = 0; made < fused; made += 1) stages.push({ name: "grow", made });
      if (fused < pass.nodes.length) stages.push({ name: "suffix", made: pass.nodes.length });
      for (const name of ["verify", "commit", "write"]) stages.push({ name, made: pass.nodes.length });
      return stages;
    }

    // The stage that is shown; a pass that was only stepped to is shown whole.
    stage() {
      const stages = this.stages();
      if (!stages.length) return { name: "write", made: 0 };
      return stages[this.substep === null ? stages.length - 1 : this.substep];
    }

    isAtEnd(inside) {
      if (this.step < this.numSteps) return false;
      return !inside || this.substep === null || this.substep >= this.stages().length - 1;
    }

    // A stage by its name; while the tree grows, with so many nodes made (all of them where it is not said).
    enterStage(name, grown) {
      const stages = this.stages();
      const names = stages.map((stage) => stage.name);
      const there = name === "grow" && Number.isInteger(grown) ? grown : names.lastIndexOf(name);
      this._enter(there < 0 ? names.lastIndexOf("grow") : Math.min(there, stages.length - 1));
    }

    // Before the verdict nothing may show what the target said.
    isJudged() { return !["grow", "suffix"].includes(this.stage().name); }

    // The runs side by side in the compare view: at most four, plain decoding first.
    comparedRuns() {
      const names = this.compared || this.payload.runs.slice(0, recap.MOST_COMPARED).map((run) => run.name);
      return this.payload.runs.filter((run) => names.includes(run.name) || run === this.run);
    }

    // Another run, at the pass that wrote the same place of the text.
    switchRun(run) {
      const position = Math.max(0, this.shownTokens() - 1);
      const span = run.text[Math.min(position, run.text.length - 1)];
      this.goTo({ run: run.name, step: Math.max(1, span[recap.SPAN.pass]), node: null });
    }

    // Whether a token stands in the text: those of the current pass do once they are committed.
    isShown(span) {
      const pass = span[recap.SPAN.pass];
      return pass < this.step || pass === 0 || (pass === this.step && !["grow", "suffix", "verify"].includes(this.stage().name));
    }

    shownTokens() { return this.run.text.filter((span) => this.isShown(span)).length; }

    goTo(place) {
      if (place.run !== undefined && this.payload) {
        const index = this.payload.runs.findIndex((run) => run.name === place.run);
        if (index >= 0 && index !== this.runIndex) { this.runIndex = index; this.node = null; }
      }
      const step = place.step === undefined ? this.step : Math.round(Number(place.step)) || 1;
      const moved = Math.min(Math.max(step, 1), this.numSteps);
      if (moved !== this.step || place.step !== undefined) this.substep = null;
      // A node's number means nothing in another pass.
      if (moved !== this.step) this.node = null;
      this.step = Math.max(moved, 0);
      if (place.substep !== undefined && place.substep !== null) this._enter(place.substep);
      if (place.node !== undefined) this.node = place.node;
      const pass = this.pass;
      if (this.node !== null && !(pass && pass.nodes && this.node >= 0 && this.node < pass.nodes.length)) this.node = null;
    }

    move(by) { this.goTo({ step: this.step + by }); }

    moveInside(by) {
      const stages = this.stages();
      const here = this.substep === null ? stages.length - 1 : this.substep;
      const there = here + by;
      if (there < 0 && this.step > 1) this.goTo({ step: this.step - 1 });
      else if (there >= stages.length && this.step < this.numSteps) { this.goTo({ step: this.step + 1 }); this._enter(0); }
      else this._enter(there);
    }

    _enter(substep) {
      const stages = this.stages();
      if (!stages.length) return;
      this.substep = Math.min(Math.max(substep, 0), stages.length - 1);
      const stage = stages[this.substep];
      // While the tree grows, the panel follows the node that was just made.
      if (stage.name === "grow") this.node = this.pass.nodes.findIndex((node) => node[recap.NODE.pop] === stage.made);
    }

    // Nodes are walked in packed order, over those that are shown.
    moveNode(by) {
      const pass = this.pass;
      if (!pass || !pass.nodes) return;
      const here = this.node === null ? (by > 0 ? -1 : pass.nodes.length) : this.node;
      for (let index = here + by; index >= 0 && index < pass.nodes.length; index += by) {
        if (pass.nodes[index][recap.NODE.pop] <= this.stage().made) { this.node = index; return; }
      }
    }

    // A growing run's update. False: it does not fit what is known here and the whole payload is needed.
    append(update) {
      if (!this.payload) return false;
      const runs = this.payload.runs;
      let index = runs.findIndex((run) => run.name === update.run.name);
      const known = index >= 0 ? runs[index] : { passes: [], rows: [] };
      if (update.passes_from > known.passes.length || update.rows_from > known.rows.length) return false;
      const follows = index === this.runIndex && this.step === this.numSteps;
      const run = Object.assign({}, update.run);
      run.passes = known.passes.slice(0, update.passes_from).concat(update.run.passes);
      run.rows = known.rows.slice(0, update.rows_from).concat(update.run.rows);
      if (index < 0) { index = runs.length; runs.push(run); } else runs[index] = run;
      Object.assign(this.payload.tokens, update.tokens);
      if (follows) this.goTo({ step: this.numSteps });
      else this.goTo({});
      return true;
    }

    place() {
      const run = this.run;
      return { run: run ? run.name : null, step: this.step, numSteps: this.numSteps, substep: this.substep, node: this.node, playing: this.playing, isPresenting: this.isPresenting, view: this.view, tab: this.tab };
    }
  }

  // What a run is called on the page: plain decoding by its meaning, the others by their method.
  recap.runLabel = (run) => (run.is_reference ? recap.words.plainLane : run.name);
  recap.State = State;
})((window.RecapPlayer = window.RecapPlayer || {}));
