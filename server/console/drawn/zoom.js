// Makes what is drawn larger and smaller: by buttons, by the keys + - 0, by the wheel with Ctrl (which a
// pinch on a touchpad sends, too).

import { element } from "../page.js";
import { t } from "../words.js";

const STEP = 1.25;

/** Buttons that zoom what `node` shows, which scrolls; `apply(factor)` draws it so large. */
export function zoomOf(node, apply, { least = 1, most = 16 } = {}) {
  let zoom = 1;
  // what is at a place stays there
  const by = (factor, x = node.clientWidth / 2, y = node.clientHeight / 2) => {
    const next = Math.min(most, Math.max(least, zoom * factor));
    const moved = next / zoom;
    if (moved === 1) return;
    zoom = next;
    const [left, top] = [(node.scrollLeft + x) * moved - x, (node.scrollTop + y) * moved - y];
    apply(zoom);
    node.scrollTo(left, top);
  };
  node.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const box = node.getBoundingClientRect();
    by(event.deltaY < 0 ? STEP : 1 / STEP, event.clientX - box.left, event.clientY - box.top);
  }, { passive: false });
  node.addEventListener("keydown", (event) => {
    const factor = { "+": STEP, "=": STEP, "-": 1 / STEP, 0: 1 / zoom }[event.key];
    if (!factor || event.target !== node || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    by(factor);
  });
  const knob = (text, label, factor) => element("button", { type: "button", ariaLabel: t(label), title: t(label), onclick: () => by(factor) }, text);
  return [knob("−", "Zoom out", 1 / STEP), knob("+", "Zoom in", STEP)];
}
