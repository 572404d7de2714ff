// The routing graph of a crew; the ways that a run has taken are lit.

import { element, shape } from "./page.js";
import { get } from "./api.js";
import { t } from "./words.js";
import dagre from "./vendor/dagre.esm.js";

// a larger one would show nothing
const MAX_NODES = 150;
const END = "(end)";
const HEIGHT = 34;
const PADDING = 12;
const LETTER = 8;
// what a page has beside it; a wider graph is drawn from left to right
const ROOM = 600;
// a drawing is made smaller down to this, so that its letters can be read; then it is scrolled
const SMALLEST = 0.9;

export class Graph {
  constructor() {
    this.node = element("figure", { className: "graph", ariaLabel: t("Route"), tabIndex: 0 });
    this.taken = new Map(); // by way: its handoff
    this.visited = new Set();
    this.speaking = new Set();
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
    const { names, edges } = this.parts();
    if (!names.size) return;
    if (names.size > MAX_NODES) {
      this.node.replaceChildren(element("p", {}, `${names.size} ${t("Agents")}`));
      return;
    }
    const layout = this.laidOut(names, edges);
    const { viewBox, width, height } = frame(layout);
    const drawing = shape("svg", { role: "img", "aria-label": t("Route"), viewBox, width, height }, arrows());
    drawing.style.minWidth = `${width * SMALLEST}px`;
    drawing.append(...layout.edges().map(({ v, w }) => this.edge(edges.get(`${v}→${w}`), layout.edge(v, w).points)));
    drawing.append(...[...names].map(([id, name]) => this.box(id, name, layout.node(id))));
    this.node.replaceChildren(drawing);
    this.follow(layout);
  }

  // a large graph is scrolled to who speaks
  follow(layout) {
    const [speaker] = this.speaking;
    if (!speaker || speaker === this.followed || !layout.hasNode(speaker)) return;
    this.followed = speaker;
    const { x, y } = layout.node(speaker);
    const { left, top, width } = frame(layout);
    const drawn = this.node.firstElementChild.getBoundingClientRect().width / width;
    this.node.scrollTo((x - left) * drawn - this.node.clientWidth / 2, (y - top) * drawn - this.node.clientHeight / 2);
  }

  // where all of it stands; computed again only when there is something new
  laidOut(names, edges) {
    const key = [...names.keys(), ...edges.keys()].join();
    if (key === this.key) return this.layout;
    // one agent with many ways is wide from top to bottom, and narrow from left to right
    const down = laidOut("TB", names, edges);
    const layout = frame(down).width <= ROOM ? down : narrower(down, laidOut("LR", names, edges));
    Object.assign(this, { key, layout });
    return layout;
  }

  // what the crew has now, and what a run of an older revision has shown
  parts() {
    const names = new Map(this.crew.agents.map((agent) => [agent.id, agent.name]));
    for (const [group, { agents }] of Object.entries(this.crew.groups)) names.set(group, `${group} (${agents.length})`);
    const edges = new Map();
    const add = (from, to, label) => {
      for (const id of [from, to]) if (!names.has(id)) names.set(id, id === END ? t("end") : id);
      const known = edges.get(`${from}→${to}`);
      edges.set(`${from}→${to}`, { from, to, labels: [...(known?.labels ?? []), label] });
    };
    for (const { from, to, label } of this.crew.routing) add(from, to, label);
    for (const [way, data] of this.taken) {
      if (!edges.has(way)) add(...way.split("→"), data.why ?? "");
    }
    return { names, edges };
  }

  edge({ from, to, labels }, points) {
    const data = this.taken.get(`${from}→${to}`);
    const line = points.map(({ x, y }, place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(" ");
    const path = shape("path", { d: line, class: data ? "way taken" : "way", "marker-end": `url(#${data ? "lit" : "dim"})` });
    const why = data?.why ? [t(data.why), data.signal, data.source].filter(Boolean).join(" · ") : labels.join(", ");
    path.append(shape("title", {}, why));
    return path;
  }

  box(id, name, { x, y, width, height }) {
    const kinds = ["node", this.visited.has(id) && "visited", this.speaking.has(id) && "speaking", id === END && "end"];
    const box = shape("rect", { x: x - width / 2, y: y - height / 2, width, height, rx: id in this.crew.groups ? 2 : 8 });
    const text = shape("text", { x, y: y + 5, "text-anchor": "middle" }, name);
    return shape("g", { class: kinds.filter(Boolean).join(" ") }, shape("title", {}, id), box, text);
  }
}

function laidOut(rankdir, names, edges) {
  const layout = new dagre.graphlib.Graph({ multigraph: true });
  layout.setGraph({ rankdir, nodesep: rankdir === "TB" ? 24 : 12, ranksep: 36 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const [id, name] of names) {
    layout.setNode(id, { width: name.length * LETTER + 2 * PADDING, height: HEIGHT });
  }
  for (const edge of edges.values()) layout.setEdge(edge.from, edge.to);
  dagre.layout(layout);
  return layout;
}

const narrower = (one, other) => (frame(one).width <= frame(other).width ? one : other);

// what all boxes and ways take; dagre's own figure leaves out ways at the edge
function frame(layout) {
  const boxes = layout.nodes().map((id) => layout.node(id));
  const points = layout.edges().flatMap((edge) => layout.edge(edge).points);
  const xs = [...boxes.flatMap(({ x, width }) => [x - width / 2, x + width / 2]), ...points.map(({ x }) => x)];
  const ys = [...boxes.flatMap(({ y }) => [y - HEIGHT / 2, y + HEIGHT / 2]), ...points.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs) - 4, Math.min(...ys) - 4];
  const [width, height] = [Math.max(...xs) - left + 4, Math.max(...ys) - top + 4];
  return { viewBox: `${left} ${top} ${width} ${height}`, left, top, width, height };
}

function arrows() {
  const arrow = (id) =>
    shape("marker", { id, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" },
      shape("path", { d: "M0 0L10 5L0 10z", class: id }));
  return shape("defs", {}, arrow("dim"), arrow("lit"));
}
