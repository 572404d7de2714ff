// What a pause asks about calls, forms and budgets, and how a person decides: every argument is shown.

import { element, json, visible } from "../../../console/shared/elements.js";
import { formOf } from "../../../console/shared/forms.js";
import { parse } from "./client.js";

// in this order, the first one marked
const DECISIONS = ["approve", "retry", "done", "skip", "deny"];
// for all runs is more than one person may say here
const REMEMBER = ["run"];

// `waiting`: the metadata of a `pause` event; `send`: sends decisions
export function card(waiting, words, send) {
  const calls = waiting.calls.map((asked) => new Asked(asked, waiting, words));
  const wrong = element("p", { className: "bad" });
  wrong.setAttribute("role", "alert");
  const act = (text, decide, properties = {}) => {
    const made = element("button", { type: "button", ...properties }, text);
    made.onclick = async () => {
      wrong.textContent = "";
      buttons.forEach((one) => (one.disabled = true));
      try {
        await send(decide());
      } catch (error) {
        wrong.textContent = error.message;
      } finally {
        buttons.forEach((one) => (one.disabled = false));
      }
    };
    return made;
  };
  let buttons;
  if (calls.length > 1) {
    for (const one of calls) one.node.append(one.choices());
    buttons = [act(words.send, () => calls.map((one) => one.decided(one.chosen())), { className: "main" })];
  } else {
    const [one] = calls;
    buttons = one.may.map((decision, place) => act(one.named(decision), () => [one.decided(decision)], { className: place ? "" : "main", name: decision }));
  }
  const node = element("section", { className: "card" }, ...calls.map((one) => one.node), element("div", { className: "buttons" }, ...buttons), wrong);
  node.part = "card";
  return node;
}

class Asked {
  constructor(asked, { question, form, budget, restored }, words) {
    Object.assign(this, { asked, words, question });
    this.may = DECISIONS.filter((decision) => asked.may.includes(decision));
    this.node = element("div", { className: "form" });
    const isCall = !budget && !restored;
    if (isCall) this.node.append(element("h3", {}, visible(asked.tool)));
    if (question === "unknown_outcome") this.node.append(element("p", { className: "warn" }, words.unknown));
    if (restored) this.node.append(element("p", {}, visible(restored.text)));
    if (asked.untrusted) this.node.append(element("p", { className: "warn" }, `${words.untrusted} ${visible(asked.untrusted.join(", "))}`));
    this.given = json(asked.arguments);
    if (isCall) this.node.append(this.labelled(element("pre", { tabIndex: 0 }, this.given), words.arguments));
    if (asked.where) this.node.append(element("pre", {}, visible(asked.where)));
    if (asked.may.includes("edit") && isCall) this.node.append(this.editor());
    if (budget || form?.call_id === asked.call_id) {
      this.form = formOf(budget ? { message: budget.text, schema: asked.schema } : form);
      this.node.append(this.form.node);
    }
    this.boxes = REMEMBER.filter((how) => asked.remember?.includes(how)).map((how) => [how, element("input", { type: "checkbox" })]);
    this.node.append(...this.boxes.map(([how, input]) => element("label", {}, input, ` ${words[how]}`)));
    const prompt = this.may.includes("done") ? words.result : words.reason;
    this.said = this.labelled(element("input", { type: "text", placeholder: prompt }), prompt);
    this.node.append(this.said);
  }

  labelled(node, name) {
    node.setAttribute("aria-label", `${name} (${visible(this.asked.tool)})`);
    return node;
  }

  named(decision) {
    if (this.question === "restored") return decision === "approve" ? this.words.goOn : this.words.end;
    if (this.question === "form" && decision === "approve") return this.words.send;
    return this.words[decision === "retry" ? "retryCall" : decision];
  }

  editor() {
    this.input = this.labelled(element("textarea", { className: "arguments", value: this.given, rows: 4 }), this.words.arguments);
    return element("details", {}, element("summary", {}, this.words.edit), this.input);
  }

  choices() {
    const name = `${this.asked.agent_id}/${this.asked.call_id}`;
    this.radios = this.may.map((value) => element("input", { type: "radio", name, value }));
    const labels = this.radios.map((radio) => element("label", {}, radio, ` ${this.named(radio.value)}`));
    return element("fieldset", {}, element("legend", { className: "hidden" }, visible(this.asked.tool)), ...labels);
  }

  chosen() {
    const radio = this.radios.find((one) => one.checked);
    if (!radio) throw new Error(`${this.asked.tool}: ${this.words.choose}`);
    return radio.value;
  }

  // of the call as it is shown here, and no other
  decided(decision) {
    const { call_id, agent_id, hash } = this.asked;
    const made = { call_id, agent_id, hash, decision };
    if (decision === "approve") {
      made.arguments = this.changed();
      made.remember = this.boxes.find(([, input]) => input.checked)?.[0];
    } else if (decision === "done") made.result = this.said.value;
    else made.reason = this.said.value;
    return made;
  }

  changed() {
    if (this.form) return this.form.read();
    if (!this.input || this.input.value === this.given) return undefined;
    try {
      return parse(this.input.value);
    } catch (error) {
      throw new Error(`${this.words.noJson}: ${error.message}`);
    }
  }
}
