// What today's crew would do with a run: both ways side by side, and where they part.

import { post } from "./api.js";
import { button, element, visible } from "./page.js";
import { t } from "./words.js";

const VERDICTS = {
  same: "the same",
  assumed: "the same, if models that are sent something else say the same",
  "other way": "another way, for certain",
  "other way, assumed": "another way, if models say the same until then",
  unknown: "not known: something is needed that is not recorded",
  "not reproduced": "not known: the run is another one on its own files, too",
  "not kept": "not known: it is no longer kept",
};

// a panel with a button
export class Replay {
  constructor(runId) {
    this.runId = runId;
    this.found = element("div", { className: "replay", ariaLive: "polite" });
    const ask = button(t("What would today's crew do?"), () => this.ask());
    // the server has taken secrets out of it
    const keep = element("a", { href: `/api/crew/runs/${runId}/rehearsal`, download: `${runId}.yaml` }, t("Keep as a rehearsal"));
    this.node = element("section", {}, element("div", { className: "buttons" }, ask, keep), this.found);
  }

  async ask() {
    this.show(await (await post(`/runs/${this.runId}/replay`, {})).json());
  }

  show(found) {
    const place = differing(found.steps_then, found.steps_now);
    const lines = [element("p", { className: "verdict" }, t(VERDICTS[found.verdict]))];
    if (found.why) lines.push(element("p", {}, visible(found.why)));
    const sources = [...new Set([found.source_now, found.source_then].filter(Boolean))];
    if (sources.length) lines.push(element("p", {}, element("code", {}, visible(sources.join(", ")))));
    const isOther = found.verdict.startsWith("other way");
    lines.push(element("div", { className: "ways" }, way(t("then"), found.steps_then, isOther ? place : -1), way(t("now"), found.steps_now, isOther ? place : -1)));
    if (found.difference) lines.push(element("pre", { tabIndex: 0 }, visible(found.difference)));
    this.found.replaceChildren(...lines);
  }
}

// where two lists part
function differing(one, other) {
  const place = one.findIndex((step, at) => step !== other[at]);
  return place < 0 && other.length > one.length ? one.length : place;
}

function way(title, steps, place) {
  const items = steps.map((step, at) => element("li", at === place ? { className: "parts" } : {}, visible(step)));
  return element("div", {}, element("h3", {}, title), element("ol", {}, ...items));
}
