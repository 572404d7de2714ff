// What a run asks a person, and the ways to answer it: the same card on a run's page and in the inbox.

import { parse, post } from "./api.js";
import { AskedCall } from "./shared/asked.js";
import { age, button, clock, element, json, seconds, sendOnEnter, visible } from "./page.js";
import { t } from "./words.js";

const TICK_MILLIS = 5000;
// what this page calls itself
const VIEWER = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
const WORDS = { form: { approve: "send the form" }, restored: { approve: "Go on with the run", deny: "End the run" } };
const REMEMBER = { run: "approve this tool for the rest of this run", always: "approve this call in all runs" };

// `waiting`: the metadata of a `pause` event, with who asks and since when; `told`: after an answer
// `looks`: whether it is looked at now, so that others see it; a card is shown who else does
export function askingCard(runId, waiting, told, { looks = () => true, viewers = [] } = {}) {
  const node = element("section", { className: "asking", ariaLabel: `${waiting.agent} ${t("asks")}` });
  const others = othersOf(runId, looks, viewers);
  node.append(element("header", {}, element("b", {}, `${waiting.agent} ${t("asks")}`), timesOf(waiting), others.node));
  const shown = (waiting.calls ?? []).map((asked) => new Asked(asked, waiting));
  node.append(...shown.map((one) => one.node));
  const send = async (body) => {
    await post(`/runs/${runId}/resume`, { ...body, pause: waiting.seq, deltas: true });
    told();
  };
  if (waiting.question) node.append(decisionsOf(waiting, shown, `${runId}/${waiting.seq}`, send));
  // by words a plan is made anew, a few times
  if (!waiting.question || waiting.words_left) node.append(wordsOf(send));
  return { node, others };
}

// again and again while a node is on the page
function ticking(node, act) {
  act();
  const timer = setInterval(() => (node.isConnected ? act() : clearInterval(timer)), TICK_MILLIS);
}

// who else has this open now
function othersOf(runId, looks, viewers) {
  const node = element("small", { className: "viewers" });
  const show = (all) => {
    const names = new Set(all.filter(({ viewer }) => viewer !== VIEWER).map(({ name }) => visible(name) || t("another page")));
    node.textContent = names.size ? `${[...names].join(", ")}: ${t("looks at it now, too")}` : "";
  };
  show(viewers);
  ticking(node, async () => {
    if (document.hidden || !looks()) return;
    // that nobody knows who looks keeps nobody from answering
    const answer = await post(`/runs/${runId}/viewers`, { viewer: VIEWER }).catch(() => null);
    if (answer) show((await answer.json()).viewers);
  });
  return { node, show };
}

function timesOf({ since, answer_until: until }) {
  const node = element("small");
  ticking(node, () => {
    const parts = [`${t("waits")} ${age(since)}`];
    if (until) parts.push(`${t("answer within")} ${seconds(Math.max(0, (new Date(until) - Date.now()) / 1000))}`);
    node.textContent = parts.join(" · ");
  });
  return node;
}

function wordsOf(send) {
  const text = element("textarea", { rows: 2, required: true, ariaLabel: t("Your answer"), placeholder: t("Your answer") });
  const answer = button(t("Answer"), async () => text.reportValidity() && send({ query: text.value }), { className: "main" });
  sendOnEnter(text, answer);
  return element("div", { className: "answer" }, text, answer);
}

// `pause`: the same for the calls of one pause, and no other
function decisionsOf({ question }, shown, pause, send) {
  if (shown.length > 1) {
    const answer = () => send({ decisions: shown.map((one) => one.decided(one.chosen())) });
    for (const one of shown) one.node.append(one.choices(pause, t));
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

class Asked extends AskedCall {
  constructor(asked, waiting) {
    const words = {
      arguments: t("Its arguments"),
      edit: t("Change the arguments"),
      choose: t("choose what is to be done"),
      noJson: t("the arguments are no JSON"),
    };
    super(asked, waiting, words, parse);
    const { question, budget, restored } = waiting;
    const head = element("h3", {}, visible(asked.tool), asked.effect ? element("small", {}, ` ${t("effect")}: ${t(asked.effect)}`) : "");
    this.node = element("div", { className: "asked" }, head);
    if (question === "unknown_outcome") {
      this.node.append(element("p", {}, t("It had started when its process ended: nobody knows whether it acted.")));
    }
    if (restored) {
      this.node.append(element("p", {}, `${t("The database was restored from a backup of")} `, clock(restored.taken_at)));
      this.node.append(element("p", {}, t("This run was at work then: what it has done since is not known, and may be done a second time.")));
    }
    if (!budget && !restored) this.node.append(element("pre", { ariaLabel: words.arguments, tabIndex: 0 }, argumentsText(asked.arguments)));
    if (asked.where) this.node.append(element("pre", { className: "where", tabIndex: 0 }, visible(asked.where)));
    if (asked.source && !budget && !restored) this.node.append(element("small", {}, visible(asked.source)));
    if (asked.may.includes("edit") && !budget) this.node.append(this.editor());
    if (this.form) this.node.append(this.form.node);
    this.node.append(...this.remembering(Object.fromEntries(Object.entries(REMEMBER).map(([how, text]) => [how, t(text)]))));
    const prompt = t(this.may.includes("done") ? "Reason, or what it returned" : "Reason, if you say no");
    this.said = this.labelled(element("input", { type: "text", className: "said", placeholder: prompt }), prompt);
    this.node.append(this.said);
  }
}
