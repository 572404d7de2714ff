// What a person decides on one call of a pause, as the server takes it: the same in the console and the chat.

import { element, json, visible } from "./elements.js";
import { formOf } from "./forms.js";

// in this order, the first one marked
const DECISIONS = ["approve", "retry", "done", "skip", "deny"];

export class AskedCall {
  // `waiting`: the metadata of the `pause` event; `words`: { arguments, edit, choose, noJson }; `parse`:
  // reads JSON with its long numbers as they were written. Who extends it makes `node` and `said`.
  constructor(asked, { budget, form }, words, parse) {
    Object.assign(this, { asked, words, parse });
    this.may = DECISIONS.filter((decision) => asked.may.includes(decision));
    this.given = json(asked.arguments);
    this.boxes = [];
    if (budget || form?.call_id === asked.call_id) {
      this.form = formOf(budget ? { message: budget.text, schema: asked.schema } : form);
    }
  }

  labelled(node, name) {
    node.setAttribute("aria-label", `${name} (${visible(this.asked.tool)})`);
    return node;
  }

  // how long an approval holds: what there is to choose, by the words for it
  remembering(words) {
    const offered = Object.keys(words).filter((how) => this.asked.remember?.includes(how));
    this.boxes = offered.map((how) => [how, element("input", { type: "checkbox" })]);
    return this.boxes.map(([how, input]) => element("label", {}, input, ` ${words[how]}`));
  }

  editor() {
    this.input = this.labelled(element("textarea", { className: "arguments", value: this.given, rows: 4 }), this.words.arguments);
    return element("details", {}, element("summary", {}, this.words.edit), this.input);
  }

  // where several calls are decided on, one by one; `named`: the words for a decision
  choices(group, named) {
    const name = `${group}/${this.asked.agent_id}/${this.asked.call_id}`;
    this.radios = this.may.map((value) => element("input", { type: "radio", name, value }));
    const labels = this.radios.map((radio) => element("label", {}, radio, ` ${named(radio.value)}`));
    return element("fieldset", { className: "choices" }, element("legend", {}, visible(this.asked.tool)), ...labels);
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
      return this.parse(this.input.value);
    } catch (error) {
      throw new Error(`${this.words.noJson}: ${error.message}`);
    }
  }
}
