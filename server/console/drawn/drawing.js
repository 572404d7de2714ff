// A graph as a drawing: boxes in ranks, and arrows between them.

import { shape, visible } from "../page.js";
import dagre from "../vendor/dagre.esm.js";

const HEIGHT = 34;
const PADDING = 12;
const LETTER = 8;
const MOST_LETTERS = 32;
// what a page has beside it; a wider graph is drawn from left to right
const ROOM = 600;
// a drawing is made smaller down to this, so that its letters can be read; then it is scrolled
const SMALLEST = 0.9;

// each drawing has arrow heads of its own: those of a hidden one are not drawn
let drawings = 0;

// where all of it stands; `names`: by id; `ways`: each with `from` and `to`
export function layoutOf(names, ways) {
  // an iterator is read once only
  const edges = [...ways];
  // one box with many ways is wide from top to bottom, and narrow from left to right
  const down = laidOut("TB", names, edges);
  return frame(down).width <= ROOM ? down : narrower(down, laidOut("LR", names, edges));
}

// `boxes`: by id, each with `name`, `kinds` (classes) and `rx`; `edges`: by "from→to", each with `why`, `isLit` and `kind` (a class)
export function drawingOf(label, layout, boxes, edges) {
  const { viewBox, width, height } = frame(layout);
  const heads = `arrows${++drawings}`;
  const drawing = shape("svg", { role: "img", "aria-label": label, viewBox, width, height }, arrows(heads));
  Object.assign(drawing.style, sizeOf(layout, 1));
  drawing.append(...layout.edges().map(({ v, w }) => line(heads, edges.get(`${v}→${w}`), layout.edge(v, w).points)));
  drawing.append(...[...boxes].map(([id, box]) => boxOf(id, box, layout.node(id))));
  return drawing;
}

// of a drawing that is made larger or smaller; at 1 it fits into its room while it can be read
export function sizeOf(layout, zoom) {
  const { width } = frame(layout);
  const px = (value) => `${value}px`;
  return zoom === 1 ? { width: "", minWidth: px(width * SMALLEST), maxWidth: "" } : { width: px(width * zoom), minWidth: "0", maxWidth: "none" };
}

// what all boxes and ways take; dagre's own figure leaves out ways at the edge
export function frame(layout) {
  const boxes = layout.nodes().map((id) => layout.node(id));
  const points = layout.edges().flatMap((edge) => layout.edge(edge).points);
  const xs = [...boxes.flatMap(({ x, width }) => [x - width / 2, x + width / 2]), ...points.map(({ x }) => x)];
  const ys = [...boxes.flatMap(({ y }) => [y - HEIGHT / 2, y + HEIGHT / 2]), ...points.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs) - 4, Math.min(...ys) - 4];
  const [width, height] = [Math.max(...xs) - left + 4, Math.max(...ys) - top + 4];
  return { viewBox: `${left} ${top} ${width} ${height}`, left, top, width, height };
}

// a name of hundreds of letters would make a box as wide as several screens
const shortened = (name) => ([...name].length > MOST_LETTERS ? `${[...name].slice(0, MOST_LETTERS - 1).join("")}…` : name);

function laidOut(rankdir, names, edges) {
  const layout = new dagre.graphlib.Graph({ multigraph: true });
  layout.setGraph({ rankdir, nodesep: rankdir === "TB" ? 24 : 12, ranksep: 36 });
  layout.setDefaultEdgeLabel(() => ({}));
  for (const [id, name] of names) {
    layout.setNode(id, { width: shortened(name).length * LETTER + 2 * PADDING, height: HEIGHT });
  }
  for (const { from, to } of edges) layout.setEdge(from, to);
  dagre.layout(layout);
  return layout;
}

const narrower = (one, other) => (frame(one).width <= frame(other).width ? one : other);

function line(heads, { why, isLit, kind }, points) {
  const d = points.map(({ x, y }, place) => `${place ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join(" ");
  const head = `url(#${heads}-${isLit ? "lit" : "dim"})`;
  return shape("path", { d, class: ["way", isLit && "taken", kind].filter(Boolean).join(" "), "marker-end": head }, shape("title", {}, why));
}

function boxOf(id, { name, kinds, rx }, { x, y, width, height }) {
  const box = shape("rect", { x: x - width / 2, y: y - height / 2, width, height, rx });
  const text = shape("text", { x, y: y + 5, "text-anchor": "middle" }, visible(shortened(name)));
  const title = visible(name === shortened(name) ? id : `${id}: ${name}`);
  return shape("g", { class: ["node", ...kinds].filter(Boolean).join(" ") }, shape("title", {}, title), box, text);
}

function arrows(heads) {
  const arrow = (kind) =>
    shape("marker", { id: `${heads}-${kind}`, viewBox: "0 0 10 10", refX: 9, refY: 5, markerWidth: 7, markerHeight: 7, orient: "auto" },
      shape("path", { d: "M0 0L10 5L0 10z", class: kind }));
  return shape("defs", {}, arrow("dim"), arrow("lit"));
}
