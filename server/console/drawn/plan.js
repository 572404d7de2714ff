// The tasks of a plan as a graph: an arrow leads from each to those that need it.

import { drawingOf, layoutOf } from "./drawing.js";
import { element } from "../page.js";
import { t } from "../words.js";

const CLASSES = { "at work": "speaking", done: "visited", failed: "lost", skipped: "lost" };

export class PlanGraph {
  // `tasks`: of one revision; `earlier`: how a task of those before it stands
  constructor(tasks, earlier) {
    this.names = new Map(tasks.map(({ id, agent }) => [id, `${id} · ${agent}`]));
    this.states = new Map();
    this.edges = new Map();
    for (const { id, needs } of tasks) {
      for (const need of needs) {
        if (!this.names.has(need)) this.names.set(need, need);
        this.edges.set(`${need}→${id}`, { from: need, to: id });
      }
    }
    for (const id of this.names.keys()) this.states.set(id, earlier(id));
    this.node = element("figure", { className: "graph", ariaLabel: t("Plan"), tabIndex: 0 });
    this.layout = layoutOf(this.names, this.edges.values());
    this.draw();
  }

  mark(id, state) {
    this.states.set(id, state);
    this.draw();
  }

  draw() {
    const boxes = new Map([...this.names].map(([id, name]) => [id, { name, kinds: [CLASSES[this.states.get(id)]], rx: 8 }]));
    const edges = new Map([...this.edges].map(([way, { from, to }]) =>
      [way, { why: `${to} ← ${from}`, isLit: this.states.get(from) === "done" }]));
    this.node.replaceChildren(drawingOf(t("Plan"), this.layout, boxes, edges));
  }
}
