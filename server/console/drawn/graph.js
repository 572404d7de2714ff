// The routing graph of a crew; the ways that a run has taken are lit.

import { get } from "../api.js";
import { drawingOf, frame, layoutOf, sizeOf } from "./drawing.js";
import { element, visible } from "../page.js";
import { named } from "../named.js";
import { t } from "../words.js";
import { zoomOf } from "./zoom.js";

// a larger one would show nothing
const MAX_NODES = 150;
// of more, the way that was taken is shown with what is next to it
const MANY = 40;
// of fewer, each is seen at once
const FEW = 12;
const END = "(end)";
// ways of which the label is a crew's own words
const SAID = ["signal", "output"];

export class Graph {
  constructor() {
    this.drawn = element("figure", { className: "graph", ariaLabel: t("Route"), tabIndex: 0 });
    this.zoom = 1;
    const knobs = zoomOf(this.drawn, (zoom) => {
      this.zoom = zoom;
      this.enlarge();
    }, { least: 0.25 });
    this.find = element("input", { type: "search", hidden: true, placeholder: t("Find an agent"), ariaLabel: t("Find an agent") });
    this.find.oninput = () => this.look(this.find.value.trim().toLocaleLowerCase());
    this.node = element("div", {}, element("div", { className: "buttons zoom" }, this.find, ...knobs), this.drawn);
    this.found = new Set(); // agents that the person looks for
    this.taken = new Map(); // by way: its handoff
    this.visited = new Set();
    this.speaking = new Set();
    this.rehearsed = new Map(); // by way: whether a rehearsal takes it
    this.changed = new Map(); // by way: whether a draft has "added" or "removed" it
    this.crew = { agents: [], groups: {}, routing: [] };
  }

  async load() {
    this.crew = await get("");
    this.draw();
  }

  show({ type, content: group, metadata: data }) {
    if (type === "agent_start") {
      this.visited.add(data.agent_id);
      this.speaking.add(data.agent_id);
    } else if (type === "agent_response") {
      this.speaking.delete(data.agent_id);
    } else if (type === "parallel_start") {
      for (const member of data.agents) this.taken.set(`${group}→${member}`, { why: "group" });
    } else if (type === "plan") {
      for (const task of data.tasks) this.taken.set(`${data.agent_id}→${task.agent}`, { why: "plan" });
    } else if (type === "handoff") {
      this.taken.set(`${data.from}→${data.to}`, data);
      this.visited.add(data.to);
    } else if (type === "done" || type === "error") {
      this.speaking.clear();
      if (type === "done" && data.reason !== "paused") this.taken.set(`${data.agent_id}→${END}`, data);
    }
  }

  clear() {
    this.taken.clear();
    this.visited.clear();
    this.speaking.clear();
  }

  draw() {
    const all = this.parts();
    this.find.hidden = all.names.size < FEW;
    const { names, edges } = all.names.size > MANY && !this.whole ? this.near(all) : all;
    if (!names.size) return;
    if (names.size > MAX_NODES) {
      this.drawn.replaceChildren(element("p", {}, `${names.size} ${t("Agents")}`));
      return;
    }
    const layout = this.laidOut(names, edges);
    const boxes = new Map([...names].map(([id, name]) => [id, { name, ...this.box(id) }]));
    const ways = new Map([...edges].map(([way, edge]) => [way, this.way(edge)]));
    this.drawn.replaceChildren(drawingOf(t("Route"), layout, boxes, ways), this.list(names, edges));
    this.enlarge();
    if (names.size < all.names.size) this.drawn.append(this.rest(all.names.size));
    const [speaker] = this.speaking;
    if (speaker !== this.followed) this.scrollTo(layout, speaker);
    this.followed = speaker;
  }

  // as large as the person wants it
  enlarge() {
    const drawing = this.drawn.querySelector("svg");
    if (!drawing) return;
    const { width, minWidth, maxWidth } = sizeOf(this.layout, this.zoom);
    Object.assign(drawing.style, { width, minWidth, maxWidth });
  }

  // agents with a text in their id or name are marked, and the first is brought into sight
  look(text) {
    const { names } = this.parts();
    const isMeant = ([id, name]) => [id, name].some((one) => one.toLocaleLowerCase().includes(text));
    this.found = new Set(text ? [...names].filter(isMeant).map(([id]) => id) : []);
    this.draw();
    const [first] = this.found;
    this.scrollTo(this.layout, first);
  }

  // the same for who cannot see it
  list(names, edges) {
    const lines = [...edges.values()].map((edge) => {
      const { why, isTaken } = this.way(edge);
      return element("li", {}, visible(`${names.get(edge.from)} → ${names.get(edge.to)}${why ? ` (${why})` : ""}${isTaken ? `: ${t("taken")}` : ""}`));
    });
    return element("ul", { className: "hidden", ariaLabel: t("Route") }, ...lines);
  }

  // the agents that have spoken, or the first one, and as many next to them as can be read
  near({ names, edges }) {
    const shown = new Set([...(this.visited.size ? this.visited : [names.keys().next().value])].filter((id) => names.has(id)));
    for (const [way] of this.taken) for (const id of way.split("→")) if (names.has(id)) shown.add(id);
    for (const id of this.found) if (shown.size < MANY) shown.add(id);
    const centres = new Set(shown);
    for (const { from, to } of edges.values()) {
      if (shown.size >= MANY) break;
      if (centres.has(from)) shown.add(to);
      else if (centres.has(to)) shown.add(from);
    }
    return {
      names: new Map([...names].filter(([id]) => shown.has(id))),
      edges: new Map([...edges].filter(([, { from, to }]) => shown.has(from) && shown.has(to))),
    };
  }

  rest(count) {
    const all = element("button", { type: "button" }, `${t("Show all")} (${count})`);
    all.onclick = () => {
      this.whole = true;
      this.draw();
    };
    return element("p", {}, all);
  }

  // a large graph is scrolled to who speaks, or is looked for
  scrollTo(layout, id) {
    if (!id || !layout?.hasNode(id)) return;
    const { x, y } = layout.node(id);
    const { left, top, width } = frame(layout);
    const drawn = this.drawn.firstElementChild.getBoundingClientRect().width / width;
    this.drawn.scrollTo((x - left) * drawn - this.drawn.clientWidth / 2, (y - top) * drawn - this.drawn.clientHeight / 2);
  }

  // where all of it stands; computed again only when there is something new
  laidOut(names, edges) {
    const key = [...names.keys(), ...edges.keys()].join();
    if (key === this.key) return this.layout;
    Object.assign(this, { key, layout: layoutOf(names, edges.values()) });
    return this.layout;
  }

  // what the crew has now, and what a run of an older revision has shown
  parts() {
    const names = new Map(this.crew.agents.map((agent) => [agent.id, agent.name]));
    for (const [group, { agents }] of Object.entries(this.crew.groups)) names.set(group, agents.length ? `${group} (${agents.length})` : group);
    const edges = new Map();
    const add = (from, to, label) => {
      for (const id of [from, to]) if (!names.has(id)) names.set(id, id === END ? t("end") : id);
      const known = edges.get(`${from}→${to}`);
      edges.set(`${from}→${to}`, { from, to, labels: [...(known?.labels ?? []), label] });
    };
    for (const { from, to, kind, label } of this.crew.routing) add(from, to, SAID.includes(kind) ? label : named("edge", label));
    for (const [way, data] of this.taken) {
      if (!edges.has(way)) add(...way.split("→"), data.why ?? "");
    }
    return { names, edges };
  }

  way({ from, to, labels }) {
    const data = this.taken.get(`${from}→${to}`);
    const why = data?.why ? [named("way", data.why), data.signal, data.source].filter(Boolean).join(" · ") : labels.join(", ");
    const isRehearsed = this.rehearsed.get(`${from}→${to}`);
    const isNever = isRehearsed === false;
    const change = this.changed.get(`${from}→${to}`);
    const more = isNever ? "no rehearsal takes it" : change;
    const kind = change ?? (isNever ? "never" : isRehearsed && "covered");
    return { why: more ? `${why} (${t(more)})` : why, isLit: Boolean(data) || change === "added", isTaken: Boolean(data), kind };
  }

  box(id) {
    const kinds = [this.found.has(id) && "found", this.visited.has(id) && "visited", this.speaking.has(id) && "speaking", id === END && "end"];
    return { kinds, rx: id in this.crew.groups ? 2 : 8 };
  }
}
