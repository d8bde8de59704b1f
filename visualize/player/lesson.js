// A lesson: texts at chosen passes of a recorded run, with questions that are answered before the verdict is shown.
(function (recap) {
  "use strict";
  const { h, words } = recap;

  recap.Lesson = class {
    constructor(root, act) {
      this.root = root;
      this.act = act;
      this.lesson = null;
    }

    load(lesson, index) {
      this.lesson = lesson || null;
      this.index = lesson ? Math.min(Math.max(index || 0, 0), lesson.steps.length - 1) : 0;
      // Chosen answers by step: what was answered once stays answered on the way back.
      this.answers = new Map();
    }

    get step() { return this.lesson && this.lesson.steps[this.index]; }
    get isOpen() { return Boolean(this.lesson); }
    // A question that waits: until it is answered or passed over, the run goes no further.
    get isWaiting() { return this.isOpen && Boolean(this.step.question) && !this.answers.has(this.index); }

    // Take the reader to the step's place.
    enter() {
      this.act.enterStep(this.step);
      this.here = this.place();
      this.draw();
    }

    place() {
      const { run, step, substep } = this.act.state().place();
      return `${run}/${step}/${substep}`;
    }

    go(by) {
      const there = this.index + by;
      if (there < 0 || there >= this.lesson.steps.length) return;
      this.index = there;
      this.enter();
    }

    answer(choice) {
      this.answers.set(this.index, choice);
      this.act.refresh();
      const body = this.root.querySelector(".rp-lesson-body");
      body.scrollTop = body.scrollHeight;
      const next = this.root.querySelector(".rp-strong");
      if (next) next.focus({ preventScroll: true });
    }

    draw() {
      this.root.hidden = !this.isOpen;
      if (!this.isOpen) { this.root.replaceChildren(); return; }
      const { lesson, step } = this;
      const isLast = this.index === lesson.steps.length - 1;
      this.root.replaceChildren(
        h("div", { class: "rp-lesson-head" }, h("span", { class: "rp-lesson-name" }, lesson.title),
          h("span", { class: "rp-lesson-place", "data-testid": "recap-lesson-place", "data-value": this.index + 1 }, words.lessonPlace(this.index + 1, lesson.steps.length)),
          h("button", { type: "button", class: "rp-plain rp-lesson-close", "aria-label": words.lessonClose, title: words.lessonClose, onclick: () => this.act.closeLesson() }, "\u00d7")),
        h("div", { class: "rp-lesson-body", "aria-live": "polite" }, h("h3", {}, step.title), h("p", { class: "rp-lesson-text" }, step.text), step.question && this.question(step.question),
          isLast && this.ending()),
        h("div", { class: "rp-lesson-foot" },
          h("button", { type: "button", class: "rp-soft", disabled: this.index === 0, "data-testid": "recap-lesson-back", onclick: () => this.go(-1) }, words.lessonBack),
          this.here === this.place() ? null : h("button", { type: "button", class: "rp-soft", onclick: () => this.enter() }, words.lessonHere),
          this.isWaiting && h("button", { type: "button", class: "rp-plain rp-skip", onclick: () => this.answer(null) }, words.lessonSkip),
          isLast ? null : h("button", { type: "button", class: "rp-strong", disabled: this.isWaiting, "data-testid": "recap-lesson-next", onclick: () => this.go(1) }, words.lessonNext)));
    }

    question(question) {
      const chosen = this.answers.get(this.index);
      const isAnswered = this.answers.has(this.index);
      return h("div", { class: "rp-question-box", role: "group", "aria-label": question.text },
        h("p", { class: "rp-ask-text" }, question.text),
        h("div", { class: "rp-choices" }, question.choices.map((choice, index) => h("button", {
          type: "button", disabled: isAnswered, "data-testid": `recap-answer-${index}`,
          class: "rp-choice" + (isAnswered && index === question.answer ? " rp-right" : "") + (isAnswered && index === chosen && index !== question.answer ? " rp-wrong" : ""),
          onclick: () => this.answer(index),
        }, choice))),
        isAnswered ? h("p", { class: "rp-after", "data-testid": "recap-answer-told" }, h("b", {}, chosen === question.answer ? words.right : chosen === null ? "" : words.wrong), " ", question.after) : null);
    }

    // At the end: the words once more, and what a teacher may want to know.
    ending() {
      const { glossary, teacher_note: note } = this.lesson;
      return [
        glossary.length ? h("details", { open: true }, h("summary", {}, words.glossary), h("dl", {}, glossary.map((entry) => [h("dt", {}, entry.term), h("dd", {}, entry.meaning)]))) : null,
        note ? h("details", {}, h("summary", {}, words.teacherNote), h("p", {}, note)) : null,
      ];
    }
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
