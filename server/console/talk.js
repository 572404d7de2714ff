// A run as a conversation: what each agent says, its tools, the ways it takes; members of a group in lanes.

import { askingCard } from "./asking.js";
import { attachedTo } from "./attached.js";
import { markdown } from "./shared/markdown.js";
import { sources } from "./pages/documents.js";
import { kept } from "./opened.js";
import { button, clock, element, json, link, seconds, visible } from "./page.js";
import { PlanGraph } from "./drawn/plan.js";
import { named } from "./named.js";
import { t } from "./words.js";

// warnings by which a member of a group has failed, and by which a model is asked once more
const ENDED = ["member_failed", "member_timeout"];
const AGAIN = ["model_retry", "model_backup"];

export class Talk {
  // `onAnswer`: called when the person has answered here; `onFork`: with the number of an event after
  // which another run is to go on
  // `place`: the user and the conversation of the run, to which its documents belong; who has asked
  constructor(runId, query, place, onAnswer, onFork) {
    this.place = place;
    this.runId = runId;
    this.onAnswer = onAnswer;
    this.onFork = onFork;
    this.node = element("ol", { className: "talk", ariaLabel: t("Conversation") });
    this.query = query;
    this.clear();
  }

  clear() {
    this.node.replaceChildren();
    this.lanes = null; // by agent or task: its list, of the group or plan that is at work
    this.written = new Map(); // by speaker: the text that is being written
    this.tasks = new Map(); // by task of a plan: its lane, its graph, how it stands
    this.calls = new Map(); // by call: its element, until it has its result
    this.places = new Map(); // by number of an event: where it is shown
    this.tools = new Map(); // by call that was asked about: its tool
    this.add(null, speech(this.place.asker, this.query, "mine"));
  }

  show(event) {
    const { metadata: data } = event;
    const act = this[event.type === "show" ? "component" : event.type];
    if (!act) return;
    const item = act.call(this, event, data) ?? this.node.lastElementChild;
    if (data.seq) this.places.set(data.seq, item);
  }

  add(data, ...children) {
    const list = (data?.group && this.lanes?.get(data.task ?? data.agent_id)) || this.node;
    const item = element("li", {}, ...children);
    list.append(item);
    return item;
  }

  note(data, kind, ...children) {
    return this.add(data, element("div", { className: `note ${kind}` }, ...children));
  }

  fork(words, after) {
    return button(t(words), () => this.onFork(after), { className: "fork" });
  }

  start(event, data) {
    const attached = attachedTo(data.attachments, this.place);
    if (attached.length) this.note(null, "sent", ...attached);
    if (data.forked_from) {
      const [other] = data.forked_from.split(":");
      this.note(null, "way", `${t("From here on another run than")} `, link(`/runs/${other}`, data.forked_from));
    }
    if (data.resumed) this.waiting?.remove();
    this.waiting = null;
  }

  agent_start(event, data) {
    const body = element("span", { className: "spinner" }, ` ${t("is thinking")}`);
    const item = this.add(data, element("article", { className: "speech" }, head(event.agent, data.model), body));
    this.written.set(speaker(data), { item, body, text: null, seq: data.seq });
  }

  agent_delta(event, data) {
    // a step that is taken again has begun before
    if (!this.written.has(speaker(data))) this.agent_start(event, data);
    const written = this.written.get(speaker(data));
    if (!written.text) {
      written.text = document.createTextNode("");
      written.body.replaceWith(element("p", { className: "writing" }, written.text));
    }
    // a request that is made again begins its text anew
    if (data.begins) written.text.data = "";
    written.text.data += event.content;
  }

  agent_thinking(event, data) {
    if (!this.written.has(speaker(data))) this.agent_start(event, data);
    const written = this.written.get(speaker(data));
    if (!written.thoughts) {
      written.thoughts = document.createTextNode("");
      const text = element("p", { className: "writing" }, written.thoughts);
      written.folded = element("details", { className: "thoughts" }, element("summary", {}, t("What it thinks")), text);
      written.item.querySelector("header").after(written.folded);
    }
    if (data.begins) written.thoughts.data = "";
    written.thoughts.data += event.content;
  }

  agent_response(event, data) {
    const written = this.written.get(speaker(data));
    this.written.delete(speaker(data));
    const item = written?.item ?? this.add(data);
    if (!event.content.trim()) {
      item.remove();
      return;
    }
    const said = data.output ? typed(event.agent, data) : speech(event.agent, event.content, "", data.model);
    if (data.invalid) {
      said.classList.add("invalid");
      said.append(element("ul", { ariaLabel: t("What is wrong with it") }, ...data.invalid.map((one) => element("li", {}, visible(one)))));
    }
    if (written?.folded) said.querySelector("header").after(written.folded);
    said.querySelector("header").append(element("small", {}, ` ${seconds(data.duration_seconds)}`));
    if (written?.seq) said.querySelector("header").append(this.fork("Ask again from here", written.seq));
    item.replaceChildren(said);
    return item;
  }

  tool_start(event, data) {
    const left = element("span", { className: "spinner" });
    const summary = element("summary", {}, `${visible(data.tool)} `, left);
    const given = element("pre", { ariaLabel: t("Its arguments"), tabIndex: 0 }, json(data.arguments));
    const call = kept(`call-${data.seq}`, element("details", { className: "tool" }, summary, given));
    this.add(data, call);
    this.calls.set(callOf(data), { call, left, until: Date.parse(event.timestamp) + data.timeout_seconds * 1000, said: "" });
    this.tick();
  }

  tool_progress(event, data) {
    const known = this.calls.get(callOf(data));
    if (!known) return;
    const part = data.progress === null ? "" : `${data.progress}${data.total ? ` / ${data.total}` : ""} `;
    known.said = ` ${part}${visible(data.message ?? "")}`;
    this.tick();
  }

  tool_result(event, data) {
    const known = this.calls.get(callOf(data));
    this.calls.delete(callOf(data));
    const mark = data.status === "success" ? "✓" : "✗";
    const tries = data.attempts > 1 ? ` · ${data.attempts} ${t("attempts")}` : "";
    const summary = element("summary", {}, `${mark} ${visible(data.tool)} `, element("small", {}, `${seconds(data.duration_seconds)}${tries}`));
    const output = element("pre", { ariaLabel: t("Output") }, visible(data.output));
    const call = known?.call ?? kept(`call-${data.seq}`, element("details", { className: "tool" }));
    if (!known) this.add(data, call);
    call.querySelector("summary")?.remove();
    call.prepend(summary);
    call.append(output);
    if (data.status !== "success") call.classList.add("error");
    return call;
  }

  // what a page of its own would draw
  component(event, data) {
    const summary = element("summary", {}, `▦ ${visible(data.component)} `, element("small", {}, visible(data.tool)));
    const drawn = element("pre", { ariaLabel: t("Output") }, visible(JSON.stringify(data.data, null, 2)));
    this.add(data, kept(`shown-${data.seq}`, element("details", { className: "tool shown" }, summary, drawn)));
  }

  handoff(event, data) {
    const matched = data.matched && Object.entries(data.matched).map(([name, value]) => `${name} ${shown(value)}`).join(", ");
    const why = [named("way", data.why), data.signal, matched, data.source].filter(Boolean).join(" · ");
    this.lanes = null;
    this.note(null, "way", `↪ ${visible(event.content)} `, element("small", {}, visible(why)));
  }

  parallel_start(event, data) {
    this.lanes = new Map(data.agents.map((agent) => [agent, element("ol", { ariaLabel: agent })]));
    this.note(null, "way", `∥ ${event.content}: ${data.agents.join(", ")}`);
    this.add(null, element("div", { className: "lanes" }, ...this.lanes.values()));
  }

  parallel_end(event, data) {
    this.lanes = null;
    if (data.failed.length) this.note(null, "warning", `${event.content}: ${data.failed.join(", ")} ✗`);
  }

  // each task is a lane, with how it stands; of a revision, behind those before it
  plan(event, data) {
    this.note(null, "way", `⋔ ${visible(event.content)}`);
    this.lanes ??= new Map();
    const graph = new PlanGraph(data.tasks, (id) => this.tasks.get(id)?.status);
    // without needs there is nothing to see beside the tasks themselves
    if (graph.edges.size) this.add(null, graph.node);
    const made = data.tasks.map((task) => {
      const state = element("small", { className: "state" }, ` ${t("waits")}`);
      const needs = task.needs.length ? element("small", {}, ` ← ${task.needs.join(", ")}`) : "";
      const list = element("ol", { ariaLabel: task.id });
      this.lanes.set(task.id, list);
      const heading = element("header", {}, element("b", {}, `${task.id} · ${task.agent}`), needs, state);
      const node = element("section", { className: "task" }, heading, element("p", { className: "plain" }, visible(task.ask)), list);
      this.tasks.set(task.id, { node, state, graph });
      return node;
    });
    this.add(null, element("div", { className: "lanes" }, ...made));
  }

  task_start(event, data) {
    this.mark(data.task, "at work");
  }

  task_end(event, data) {
    this.mark(data.task, data.status);
  }

  mark(id, status) {
    const task = this.tasks.get(id);
    // its plan may lie in a gap
    if (!task) return;
    task.status = status;
    task.state.textContent = ` ${t(status)}`;
    task.node.dataset.status = status;
    task.graph.mark(id, status);
  }

  plan_end(event, data) {
    const lost = [...data.failed, ...data.skipped];
    if (lost.length) this.note(null, "warning", `${visible(event.agent)}: ${lost.join(", ")} ✗`);
  }

  pause(event, data) {
    const waiting = { ...data, agent: event.agent, since: event.timestamp };
    const card = askingCard(this.runId, waiting, () => this.onAnswer()).node;
    this.waiting = this.add(null, card);
    for (const one of data.calls ?? []) this.tools.set(callOf(one), one.tool);
  }

  answered(event, data) {
    const decided = (data.decisions ?? []).map((one) => {
      const more = [one.reason, one.result, one.arguments && json(one.arguments)].filter(Boolean);
      return [`${t(one.decision)}: ${this.tools.get(callOf(one)) ?? one.call_id}`, ...more].join("\n");
    });
    const said = speech(data.by || t("You"), decided.join("\n") || event.content, "mine");
    // the event behind the pause says that the run waits
    if (data.pause_seq) said.querySelector("header").append(this.fork("Answer otherwise", data.pause_seq + 1));
    this.add(null, said);
  }

  gap(event, data) {
    this.note(null, "", `… ${event.content}`);
    if (data.snapshot.answer) this.add(null, speech(data.snapshot.agent_id ?? "", data.snapshot.answer));
  }

  warning(event, data) {
    const written = this.written.get(speaker(data));
    if (written && ENDED.includes(data.code)) {
      written.item.remove();
      this.written.delete(speaker(data));
    }
    // what was written of the answer that failed comes again
    if (written?.text && AGAIN.includes(data.code)) written.text.data = "";
    this.note(data, "warning", visible(event.content));
  }

  memory(event, data) {
    this.note(data, "", visible(event.content));
  }

  tainted(event, data) {
    this.note(data, "warning", visible(event.content));
  }

  passages(event, data) {
    const names = data.passages.map((one) => `[${one.n}] ${visible(one.name)}${one.place ? `, ${visible(one.place)}` : ""}`);
    this.note(data, "", `❝ ${names.join(" · ")}`);
  }

  compacted(event, data) {
    this.note(data, "", `${event.content}: ${data.tokens_before} → ${data.tokens_after} ${t("tokens")}`);
  }

  error(event) {
    this.rest();
    this.note(null, "error", `✗ ${visible(event.content)}`);
  }

  done(event, data) {
    this.rest();
    if (data.sources) this.add(null, sources(data.sources, this.place));
    if (data.reason !== "paused") this.note(null, "done", `✓ ${named("reason", data.reason)} · `, clock(event.timestamp));
  }

  // what was under way when the segment ended is so no more
  rest() {
    for (const { item } of this.written.values()) item.remove();
    for (const { left } of this.calls.values()) left.remove();
    this.written.clear();
    this.calls.clear();
  }

  // the time that each call has left
  tick() {
    for (const { left, until, said } of this.calls.values()) {
      left.textContent = ` ${seconds(Math.max(0, (until - Date.now()) / 1000))} ${t("left")}${said}`;
    }
  }
}

const speaker = (data) => `${data.group ?? ""}/${data.task ?? ""}/${data.agent_id}`;
const callOf = (data) => `${data.agent_id}/${data.call_id}`;

function head(name, model) {
  return element("header", {}, element("b", {}, visible(name)), model ? element("small", {}, ` ${model}`) : "");
}

// a typed answer: its fields, and what no vocabulary has
function typed(name, { model, output, output_unknown: unknown = [] }) {
  const rows = Object.entries(output).map(([field, value]) => element("tr", {}, element("th", { scope: "row" }, visible(field)), element("td", {}, shown(value))));
  const table = element("table", { className: "output", ariaLabel: t("Output") }, element("tbody", {}, ...rows));
  const rest = unknown.length ? [element("small", {}, `${t("Unknown")}: ${visible(unknown.join(", "))}`)] : [];
  return element("article", { className: "speech" }, head(name, model), table, ...rest);
}

// texts as they are, a list of them with commas, the rest as JSON
function shown(value) {
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return visible(value.join(", ") || "–");
  return visible(typeof value === "string" ? value : value === null ? "–" : json(value));
}

function speech(name, text, kind = "", model = "") {
  const body = kind === "mine" ? element("p", { className: "plain" }, visible(text)) : markdown(text);
  return element("article", { className: `speech ${kind}` }, head(name, model), body);
}
