// Why a run went where it went: each event with the rules that decided, their words and lines.

import { get } from "../api.js";
import { kept } from "../opened.js";
import { element, json, money, seconds, visible } from "../page.js";
import { line } from "../named.js";
import { t } from "../words.js";

// a panel that is filled when it is opened
export class Why {
  constructor(runId) {
    this.runId = runId;
    this.steps = element("ol", { className: "why" });
    this.node = kept("why", element("details", {}, element("summary", {}, t("Why")), this.steps));
    this.node.ontoggle = () => this.node.open && this.load();
  }

  async load() {
    try {
      const { steps } = await get(`/runs/${this.runId}/why`);
      this.steps.replaceChildren(...steps.map(stepOf));
    } catch (error) {
      this.steps.replaceChildren(element("li", { className: "error", role: "alert" }, error.message));
    }
  }
}

function stepOf(one) {
  const cost = one.cost === null ? "?" : money({ usd: one.cost, unpriced: 0 });
  const about = element("small", {}, [` ${seconds(one.time)}`, cost].filter(Boolean).join(" · "));
  const rulings = [...one.decided, ...one.limits].map(rulingOf);
  const node = element("li", { value: one.event }, visible(line(one.step)), about, ...(rulings.length ? [element("ul", {}, ...rulings)] : []));
  if (Object.keys(one.facts).length) {
    node.append(kept(`why-${one.event}`, element("details", {}, element("summary", {}, t("more")), element("pre", { tabIndex: 0 }, json(one.facts)))));
  }
  return node;
}

function rulingOf(one) {
  const source = one.source ? [" ", element("code", {}, visible(one.source))] : [];
  return element("li", { className: one.applied ? "applies" : "" }, element("b", {}, one.rule), ` ${visible(line(one.because))}`, ...source);
}
