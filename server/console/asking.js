// What a run asks a person, and the ways to answer it: the same card on a run's page and in the inbox.

import { parse, post } from "./api.js";
import { formOf } from "./shared/forms.js";
import { age, button, clock, element, json, seconds, sendOnEnter, visible } from "./page.js";
import { t } from "./words.js";

// in this order, the first one marked
const DECISIONS = ["approve", "retry", "done", "skip", "deny"];
const TICK_MILLIS = 5000;
const WORDS = { form: { approve: "send the form" }, restored: { approve: "Go on with the run", deny: "End the run" } };
const REMEMBER = { run: "approve this tool for the rest of this run", always: "approve this call in all runs" };

// `waiting`: the metadata of a `pause` event, with who asks and since when; `told`: after an answer
export function askingCard(runId, waiting, told) {
  const node = element("section", { className: "asking", ariaLabel: `${waiting.agent} ${t("asks")}` });
  node.append(element("header", {}, element("b", {}, `${waiting.agent} ${t("asks")}`), timesOf(waiting)));
  const shown = (waiting.calls ?? []).map((asked) => new AskedCall(asked, waiting, `${runId}/${waiting.seq}`));
  node.append(...shown.map((one) => one.node));
  const send = async (body) => {
    await post(`/runs/${runId}/resume`, { ...body, pause: waiting.seq, deltas: true });
    told();
  };
  if (waiting.question) node.append(decisionsOf(waiting, shown, send));
  // by words a plan is made anew, a few times
  if (!waiting.question || waiting.words_left) node.append(wordsOf(send));
  return node;
}

function timesOf({ since, answer_until: until }) {
  const node = element("small");
  const tell = () => {
    const parts = [`${t("waits")} ${age(since)}`];
    if (until) parts.push(`${t("answer within")} ${seconds(Math.max(0, (new Date(until) - Date.now()) / 1000))}`);
    node.textContent = parts.join(" · ");
  };
  tell();
  const timer = setInterval(() => (node.isConnected ? tell() : clearInterval(timer)), TICK_MILLIS);
  return node;
}

function wordsOf(send) {
  const text = element("textarea", { rows: 2, required: true, ariaLabel: t("Your answer"), placeholder: t("Your answer") });
  const answer = button(t("Answer"), async () => text.reportValidity() && send({ query: text.value }), { className: "main" });
  sendOnEnter(text, answer);
  return element("div", { className: "answer" }, text, answer);
}

function decisionsOf({ question }, shown, send) {
  if (shown.length > 1) {
    const answer = () => send({ decisions: shown.map((one) => one.decided(one.chosen())) });
    for (const one of shown) one.node.append(one.choices());
    return element("div", { className: "buttons" }, button(t("Answer"), answer, { className: "main" }));
  }
  const [one] = shown;
  const words = WORDS[question] ?? {};
  const buttons = one.may.map((decision, place) => {
    const decide = () => send({ decisions: [one.decided(decision)] });
    return button(t(words[decision] ?? decision), decide, { className: place ? "" : "main", name: decision });
  });
  return element("div", { className: "buttons" }, ...buttons);
}

// a text with line breaks as lines, since nobody reads the end of a long line of JSON
function argumentsText(given) {
  const values = Object.entries(given);
  if (!values.some(([, value]) => typeof value === "string" && value.includes("\n"))) return json(given);
  const lines = values.flatMap(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text.includes("\n") ? [`${name}:`, ...text.split("\n").map((line) => `  ${line}`)] : [`${name}: ${text}`];
  });
  return lines.map(visible).join("\n");
}

class AskedCall {
  // `pause`: the same for the calls of one pause, and no other
  constructor(asked, { question, form, budget, restored }, pause) {
    Object.assign(this, { asked, pause });
    this.may = DECISIONS.filter((decision) => asked.may.includes(decision));
    const head = element("h3", {}, visible(asked.tool), asked.effect ? element("small", {}, ` ${t("effect")}: ${t(asked.effect)}`) : "");
    this.node = element("div", { className: "asked" }, head);
    if (question === "unknown_outcome") {
      this.node.append(element("p", {}, t("It had started when its process ended: nobody knows whether it acted.")));
    }
    if (restored) {
      this.node.append(element("p", {}, `${t("The database was restored from a backup of")} `, clock(restored.taken_at)));
      this.node.append(element("p", {}, t("This run was at work then: what it has done since is not known, and may be done a second time.")));
    }
    this.given = json(asked.arguments);
    if (!budget && !restored) this.node.append(element("pre", { ariaLabel: t("Its arguments") }, argumentsText(asked.arguments)));
    if (asked.where) this.node.append(element("pre", { className: "where" }, visible(asked.where)));
    if (asked.source && !budget && !restored) this.node.append(element("small", {}, visible(asked.source)));
    if (asked.may?.includes("edit") && !budget) this.node.append(this.editor());
    if (budget || form?.call_id === asked.call_id) {
      this.form = formOf(budget ? { message: budget.text, schema: asked.schema } : form);
      this.node.append(this.form.node);
    }
    this.boxes = Object.keys(REMEMBER).filter((how) => asked.remember?.includes(how)).map((how) => this.box(how));
    this.node.append(...this.boxes.map(([, , label]) => label));
    const prompt = this.may.includes("done") ? "Reason, or what it returned" : "Reason, if you say no";
    this.said = element("input", { type: "text", placeholder: t(prompt), ariaLabel: `${t(prompt)} (${asked.tool})` });
    this.node.append(this.said);
  }

  // where several calls are decided on, one by one
  choices() {
    const name = `${this.pause}/${this.asked.agent_id}/${this.asked.call_id}`;
    this.radios = this.may.map((decision) => element("input", { type: "radio", name, value: decision }));
    const labels = this.radios.map((radio) => element("label", {}, radio, ` ${t(radio.value)}`));
    return element("fieldset", { className: "choices" }, element("legend", {}, visible(this.asked.tool)), ...labels);
  }

  chosen() {
    const radio = this.radios.find((one) => one.checked);
    if (!radio) throw new Error(`${this.asked.tool}: ${t("choose what is to be done")}`);
    return radio.value;
  }

  editor() {
    this.input = element("textarea", { className: "arguments", value: this.given, rows: 4 });
    this.input.setAttribute("aria-label", `${t("Its arguments")} (${this.asked.tool})`);
    return element("details", {}, element("summary", {}, t("Change the arguments")), this.input);
  }

  box(how) {
    const input = element("input", { type: "checkbox" });
    return [how, input, element("label", {}, input, ` ${t(REMEMBER[how])}`)];
  }

  // of the call as it is shown here, and no other
  decided(decision) {
    const { call_id, agent_id, hash } = this.asked;
    const made = { call_id, agent_id, hash, decision };
    if (decision === "approve") {
      made.arguments = this.changed();
      made.remember = this.boxes.find(([, input]) => input.checked)?.[0];
    } else if (decision === "done") {
      made.result = this.said.value;
    } else {
      made.reason = this.said.value;
    }
    return made;
  }

  changed() {
    if (this.form) return this.form.read();
    if (!this.input || this.input.value === this.given) return undefined;
    try {
      return parse(this.input.value);
    } catch (error) {
      throw new Error(`${t("the arguments are no JSON")}: ${error.message}`);
    }
  }
}
