// <crew-chat>: a conversation with a crew, in anybody's page. Texts of models are only ever text nodes
// and a few safe elements, so it works under a strict policy and `require-trusted-types-for`.

import { element, json, sendOnEnter, visible } from "../../../console/shared/elements.js";
import { markdown } from "../../../console/shared/markdown.js";
import { card } from "./card.js";
import { Crew, CrewError, newKey } from "./client.js";
import { STYLE } from "./style.js";
import { ENGLISH, VIETNAMESE } from "./words.js";

export { Crew, CrewError };

const ENDED = ["completed", "failed", "cancelled"];
// warnings after which an answer is written anew
const AGAIN = ["model_retry", "model_backup"];
// of a conversation, when it is opened
const EXCHANGES = 50;
const LOOK_MILLIS = 5000;
// from the end of the log, where its reader stays at the end
const NEAR_PIXELS = 80;

const sheet = new CSSStyleSheet();
sheet.replaceSync(STYLE);

export class CrewChat extends HTMLElement {
  static observedAttributes = ["url", "conversation", "user", "language", "theme"];

  #parts;
  #view = null;
  #given = {};

  constructor() {
    super();
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    this.#parts = parts();
    root.append(...this.#parts.nodes);
  }

  // Makes a ticket for the person; where it is not set the page's own cookies go with each request.
  get ticket() {
    return this.#given.ticket;
  }

  set ticket(make) {
    this.#give("ticket", make);
  }

  // Words in place of those of the language.
  get words() {
    return this.#given.words;
  }

  set words(words) {
    this.#give("words", words);
  }

  connectedCallback() {
    // what was set before the element was defined
    for (const name of ["ticket", "words"]) {
      if (!Object.hasOwn(this, name)) continue;
      this.#given[name] = this[name];
      delete this[name];
    }
    this.#open();
  }

  disconnectedCallback() {
    this.#view?.close();
    this.#view = null;
  }

  attributeChangedCallback(name, before, now) {
    if (name !== "theme" && before !== now && this.#view) this.#open();
  }

  // Sends a question, as the person does.
  ask(text) {
    return this.#view?.send(text);
  }

  #give(name, value) {
    this.#given[name] = value;
    if (this.#view) this.#open();
  }

  #open() {
    this.#view?.close();
    const said = { ...((this.getAttribute("language") ?? navigator.language).startsWith("vi") ? VIETNAMESE : ENGLISH), ...this.words };
    this.#view = new View(this, this.#parts, said);
    this.#view.opened = this.#view.open();
  }
}

function parts() {
  const log = part(element("ol", { className: "log", tabIndex: 0 }), "log");
  log.setAttribute("role", "log");
  const alert = element("p", { className: "alert" });
  alert.setAttribute("role", "alert");
  const input = part(element("textarea", { rows: 1, maxLength: 100_000 }), "input");
  const send = part(element("button", { className: "main" }), "send");
  const stop = part(element("button", { type: "button", hidden: true }), "stop");
  const form = part(element("form", { className: "ask" }, input, stop, send), "form");
  sendOnEnter(input, send);
  const empty = element("slot", { name: "empty" });
  return { log, alert, input, send, stop, form, empty, nodes: [element("slot", { name: "head" }), empty, log, alert, form] };
}

function part(node, name) {
  node.part = name;
  return node;
}

// The element as it is with one address, person and conversation.
class View {
  constructor(host, nodes, words) {
    Object.assign(this, { host, nodes, words, closed: new AbortController(), run: null, pause: null });
    const given = (name) => host.getAttribute(name) ?? undefined;
    this.user = given("user");
    this.crew = new Crew({
      url: given("url") ?? "",
      ticket: host.ticket,
      patienceSeconds: Infinity,
      waits: () => this.tell(words.lost),
    });
    // the same one after a reload of the page
    this.key = `crew-chat ${given("url") ?? ""} ${this.user ?? ""}${placeOf(host)}`;
    const kept = stored(this.key);
    this.conversation = given("conversation") ?? kept.conversation ?? newKey();
    this.last = kept.conversation === this.conversation ? kept.run : undefined;
    this.hasConversations = kept.plain !== true;
    nodes.log.replaceChildren();
    nodes.log.setAttribute("aria-label", words.log);
    nodes.send.textContent = words.send;
    nodes.stop.textContent = words.stop;
    nodes.form.onsubmit = (event) => {
      event.preventDefault();
      this.send(nodes.input.value).catch((error) => this.tell(error.message));
    };
    nodes.stop.onclick = () => this.crew.cancel(this.run).catch((error) => this.tell(error.message));
    this.rest();
  }

  close() {
    this.closed.abort();
  }

  get signal() {
    return this.closed.signal;
  }

  tell(text = "") {
    if (!this.signal.aborted) this.nodes.alert.textContent = text;
  }

  // `show` is for the page to draw, at each opening; the others are said once, when they happen
  emit(kind, detail) {
    if (this.isPast && kind !== "show") return true;
    return this.host.dispatchEvent(new CustomEvent(`crew-${kind}`, { detail, bubbles: true, composed: true, cancelable: true }));
  }

  // Shows what there is already, and goes on with what is at work or waits.
  async open() {
    try {
      if (this.hasConversations) await this.openConversation();
      else if (this.last) await this.openRun(this.last);
    } catch (error) {
      if (!this.signal.aborted) this.fail(error);
    }
  }

  async openConversation() {
    let known;
    try {
      known = await this.crew.conversation(this.conversation, { user: this.user, limit: EXCHANGES });
    } catch (error) {
      if (error.status !== 404) throw error;
      this.hasConversations = error.document?.code !== "no-conversations";
      if (!this.hasConversations && this.last) await this.openRun(this.last);
      return;
    }
    // the newest of a long one
    const before = known.exchange_count - EXCHANGES;
    if (before > 0) known = await this.crew.conversation(this.conversation, { user: this.user, after: before, limit: EXCHANGES });
    if (this.signal.aborted) return;
    for (const one of known.exchanges) {
      // the newest with all that its run has shown: why it failed and "try again", steps, sources
      const isWhole = one === known.exchanges.at(-1) || !ENDED.includes(one.status);
      if (!isWhole || !(await this.openRun(one.run_id, one))) this.showExchange(one);
    }
  }

  showExchange({ query, parts: more, answer, signal, agent, status }) {
    this.mine(query);
    for (const one of more) {
      // a decision was made on a card: what it was about, and what it was
      if (one.decision && !one.agent_id) this.note(this.words[one.text] ?? one.text);
      else if (one.decision) this.note(one.text);
      else if (one.agent_id) this.said(one.agent, withoutEnd(one.text, one.signal));
      else this.mine(one.text);
    }
    if (withoutEnd(answer, signal)) this.said(agent, withoutEnd(answer, signal));
    if (status !== "completed") this.note(status === "failed" ? this.words.failed : this.words.stopped);
  }

  // Shows a run from its beginning; false: it is there no more. Where its first events are not kept, it is shown
  // as an exchange, if it is one.
  async openRun(id, exchange) {
    const run = await this.crew.run(id, { signal: this.signal }).catch((error) => {
      if (error.status === 404) return null;
      throw error;
    });
    if (run === null || this.signal.aborted) return run !== null;
    if (!ENDED.includes(run.status)) {
      this.mine(run.query);
      this.follow(id).catch((error) => this.fail(error));
    } else if (!(await this.replay(run))) this.showExchange(exchange ?? { ...run, parts: [], agent: run.agent_id ?? "" });
    return true;
  }

  // Shows what an ended run has shown; false, and nothing is shown: its first events are not kept.
  async replay(run) {
    this.run = run.run_id;
    this.shown = null;
    this.isPast = true;
    for await (const event of this.crew.follow(run.run_id, { deltas: false, signal: this.signal })) {
      if (!this.shown && event.type === "gap") return false;
      if (!this.shown) {
        this.mine(run.query);
        this.shown = new Shown(this, run.run_id);
      }
      this.shown.take(event);
      this.after = event.metadata.seq ?? this.after;
    }
    this.isPast = false;
    this.tell();
    this.rest();
    return this.shown !== null;
  }

  // Sends words: a question, or the answer to what is asked.
  async send(text) {
    if (!text.trim() || this.sending) return;
    this.sending = true;
    this.nodes.send.disabled = true;
    this.tell();
    try {
      // what was said before stands above
      await this.opened;
      if (this.signal.aborted) return;
      if (this.pause) await this.answer(text);
      else await this.ask(text);
    } catch (error) {
      this.rest();
      throw error;
    } finally {
      this.sending = false;
    }
  }

  async answer(text) {
    const asked = this.pause;
    await this.crew.answer(this.run, { text, pause: asked.seq });
    this.goOn(asked, text);
  }

  async ask(text) {
    const names = this.hasConversations;
    const place = names ? { conversation: this.conversation } : {};
    const asking = this.crew.ask(text, { ...place, user: this.user, signal: this.signal });
    let run;
    try {
      run = await asking.run;
    } catch (error) {
      if (!names || error.status !== 400 || !error.document.errors?.some((one) => one.field === "conversation_id")) throw error;
      // this crew keeps none
      this.hasConversations = false;
      return this.ask(text);
    }
    if (this.signal.aborted) return;
    this.isPast = false;
    this.mine(text);
    this.clear(text);
    store(this.key, { conversation: this.conversation, run, plain: !names });
    this.emit("run", { run, conversation: names ? this.conversation : null });
    this.follow(run).catch((error) => this.fail(error));
  }

  // Shows a run until it ends; what waits for a person goes on with their answer.
  async follow(run, after = 0) {
    this.run = run;
    this.shown = after ? this.shown : new Shown(this, run);
    this.isPast = false;
    this.work();
    let last = after;
    for await (const event of this.crew.follow(run, { after, signal: this.signal })) {
      this.tell();
      last = event.metadata.seq ?? last;
      this.shown.take(event);
    }
    if (this.signal.aborted) return;
    this.after = last;
    this.rest();
    if (this.pause) this.look();
  }

  // a pause that another one answers, or that ends by its time
  async look() {
    const asked = this.pause;
    while (!this.signal.aborted && this.pause === asked) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MILLIS));
      const run = await this.crew.run(this.run, { signal: this.signal }).catch(() => null);
      if (this.pause === asked && run && (run.status !== "paused" || run.pause !== asked.seq)) this.goOn(asked);
    }
  }

  // what was typed stays, unless it is what was sent
  clear(text) {
    if (this.nodes.input.value === text) this.nodes.input.value = "";
  }

  // once for each pause, whoever has answered it
  goOn(asked, text) {
    if (this.signal.aborted || this.pause !== asked) return;
    this.pause = null;
    if (text !== undefined) this.clear(text);
    this.shown.card?.remove();
    this.follow(this.run, this.after).catch((error) => this.fail(error));
  }

  // what a pause asks: a card, or null where it asks for words
  wait(data) {
    this.pause = data;
    this.emit("pause", { run: this.run, ...data });
    if (!data.calls) {
      this.nodes.input.placeholder = this.words.answer;
      return null;
    }
    return card(data, this.words, async (decisions) => {
      await this.crew.decide(this.run, { pause: data.seq, decisions });
      this.goOn(data);
    });
  }

  work() {
    if (this.signal.aborted) return;
    this.nodes.stop.hidden = false;
    this.nodes.send.disabled = true;
  }

  rest() {
    if (this.signal.aborted) return;
    const { input, send, stop } = this.nodes;
    stop.hidden = !this.pause;
    send.disabled = Boolean(this.pause?.calls && !this.pause.words_left);
    const prompt = this.pause ? this.words.answer : this.words.ask;
    input.placeholder = prompt;
    input.setAttribute("aria-label", prompt);
  }

  fail(error) {
    if (this.signal.aborted) return;
    this.rest();
    this.tell(error.message);
    this.emit("error", { run: this.run, error });
  }

  add(node) {
    this.nodes.empty.hidden = true;
    this.atEnd(() => this.nodes.log.append(node));
    return node;
  }

  // Changes what is shown; who reads further up is not moved.
  atEnd(change) {
    const { log } = this.nodes;
    const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_PIXELS;
    change();
    if (isAtEnd) log.scrollTop = log.scrollHeight;
  }

  mine(text) {
    return this.add(part(element("li", { className: "me" }, element("span", { className: "hidden" }, `${this.words.you}: `), visible(text)), "message me"));
  }

  said(name, text) {
    return this.add(part(element("li", { className: "crew" }, element("span", { className: "name" }, visible(name)), markdown(text)), "message crew"));
  }

  note(text, kind = "note") {
    return this.add(part(element("li", { className: kind }, visible(text)), "note"));
  }
}

// What one run shows: its answer, and before it, folded, the steps that lead there.
class Shown {
  constructor(view, run) {
    Object.assign(this, { view, words: view.words, run, calls: new Map(), writing: new Map(), last: null, card: null, tools: new Map() });
    this.begin();
  }

  take(event) {
    this.view.atEnd(() => this[event.type]?.(event, event.metadata));
    if (event.type !== "pause" || !this.card) return;
    // what is decided on is read from its beginning
    const { log } = this.view.nodes;
    log.scrollTop += Math.min(0, this.card.getBoundingClientRect().top - log.getBoundingClientRect().top);
  }

  step(...children) {
    const item = element("li", {}, ...children);
    this.list.append(item);
    this.steps.hidden = false;
    this.count.textContent = `${this.words.steps}: ${this.list.children.length}`;
    return item;
  }

  // what was said before is a step, once another one speaks
  fold() {
    if (!this.last) return;
    this.step(...this.last.childNodes);
    this.last.remove();
    this.last = null;
  }

  start(event, data) {
    if (!data.resumed) return;
    this.card?.remove();
    this.card = null;
    this.view.pause = null;
  }

  answered(event) {
    const { decision, decisions } = event.metadata;
    // a question in words stays where it was asked
    if (decisions || decision) this.fold();
    this.last = null;
    // a decision is a step, words are the person's
    if (decisions) for (const one of decisions) this.decided(one.decision, this.tools.get(one.call_id) ?? one.call_id);
    else if (decision) this.decided(decision, [...this.tools.values()].join(", "));
    else {
      this.view.mine(event.content);
      this.begin();
    }
  }

  decided(decision, tool) {
    this.step(`${this.words[decision] ?? decision}: ${visible(tool)}`);
  }

  // the steps behind a person's words stand behind them
  begin() {
    this.list = element("ol");
    this.count = element("summary", {}, this.words.working);
    this.steps = element("details", { className: "steps", hidden: true }, this.count, this.list);
    this.view.add(element("li", { className: "crew" }, this.steps));
  }

  agent_start(event, data) {
    if (this.writing.has(speaker(data))) return;
    if (!data.group) this.fold();
    const text = element("p", { className: "spinner note" }, ` ${visible(event.agent)} ${this.words.thinking}`);
    const name = element("span", { className: "name" }, visible(event.agent));
    const item = data.group ? this.step(name, text) : this.view.add(part(element("li", { className: "crew" }, name, text), "message crew"));
    this.writing.set(speaker(data), { item, text, written: null });
  }

  agent_delta(event, data) {
    this.agent_start(event, data);
    const one = this.writing.get(speaker(data));
    if (!one.written) {
      one.written = document.createTextNode("");
      one.text.replaceWith((one.text = element("p", { className: "writing" }, one.written)));
    }
    // a request that is made again, by another process too, begins its text anew
    if (data.begins) one.written.data = "";
    one.written.data += visible(event.content);
  }

  agent_response(event, data) {
    this.agent_start(event, data);
    const { item, text } = this.writing.get(speaker(data));
    this.writing.delete(speaker(data));
    if (!event.content.trim()) {
      item.remove();
      return;
    }
    const shown = data.output && !data.words ? table(data.output) : markdown(data.words ?? event.content);
    text.replaceWith(shown);
    if (!data.group) this.last = item;
    this.said = { item, shown, text: data.output ? "" : event.content };
  }

  tool_start(event, data) {
    const name = element("summary", { className: "spinner" }, ` ${visible(data.tool)}`);
    const given = element("pre", { tabIndex: 0 }, json(data.arguments));
    given.setAttribute("aria-label", this.words.arguments);
    const call = element("details", {}, name, given);
    this.fold();
    this.step(call);
    this.calls.set(`${data.agent_id}/${data.call_id}`, { call, name });
  }

  tool_result(event, data) {
    const known = this.calls.get(`${data.agent_id}/${data.call_id}`);
    this.calls.delete(`${data.agent_id}/${data.call_id}`);
    if (!known) return;
    const isGood = data.status === "success";
    known.name.className = isGood ? "" : "bad";
    known.name.textContent = `${isGood ? "✓" : "✗"} ${visible(data.tool)}`;
    const output = element("pre", { tabIndex: 0 }, visible(data.output));
    output.setAttribute("aria-label", this.words.output);
    known.call.append(output);
  }

  // the page may draw it itself
  show(event, data) {
    if (!this.view.emit("show", { run: this.run, component: data.component, tool: data.tool, data: data.data })) return;
    this.view.add(element("li", { className: "crew" }, element("details", { open: true }, element("summary", {}, visible(data.component)), element("pre", {}, json(data.data)))));
  }

  handoff(event, data) {
    this.cut(data.signal);
    this.fold();
    this.step(`↪ ${visible(event.content)}`);
  }

  parallel_start(event, data) {
    this.fold();
    this.step(`∥ ${visible(event.content)}: ${visible(data.agents.join(", "))}`);
  }

  plan(event) {
    this.fold();
    this.step(`⋔ ${visible(event.content)}`);
  }

  task_end(event, data) {
    this.step(`${data.status === "done" ? "✓" : "✗"} ${visible(event.content)}`);
  }

  warning(event, data) {
    const one = this.writing.get(speaker(data));
    if (one?.written && AGAIN.includes(data.code)) one.written.data = "";
    this.step(element("span", { className: "warn" }, visible(event.content)));
  }

  gap(event, data) {
    this.view.note(this.words.gap);
    if (data.snapshot?.answer) this.view.said(data.snapshot.agent_id ?? "", data.snapshot.answer);
  }

  pause(event, data) {
    this.tools = new Map(data.calls?.map((one) => [one.call_id, one.tool]));
    const node = this.view.wait({ ...data, agent: event.agent });
    if (node) this.card = this.view.add(element("li", { className: "crew" }, node));
  }

  error(event, data) {
    this.end();
    const again = element("button", { type: "button" }, this.words.retry);
    const item = this.view.note(`${this.words.failed} ${visible(event.content)}`, "bad");
    this.view.emit("error", { run: this.run, error: new CrewError(event.content, { code: data.code }) });
    again.onclick = async () => {
      again.disabled = true;
      try {
        await this.view.crew.retry(this.run);
        item.remove();
        await this.view.follow(this.run, data.seq);
      } catch (problem) {
        again.disabled = false;
        this.view.fail(problem);
      }
    };
    if (data.retryable) item.append(" ", again);
  }

  // the signal of an answer that was acted on is not for people
  cut(signal) {
    const { item, shown, text } = this.said ?? {};
    const at = signal && text ? text.toLowerCase().lastIndexOf(signal.toLowerCase()) : -1;
    if (at < 0) return;
    const rest = (text.slice(0, at) + text.slice(at + signal.length)).trim();
    if (rest) shown.replaceWith(markdown(rest));
    else item.remove();
    if (!rest && this.last === item) this.last = null;
    this.said = null;
  }

  done(event, data) {
    this.end();
    this.cut(data.signal);
    if (data.reason === "paused") return;
    this.view.pause = null;
    if (data.sources?.length) this.view.add(element("li", { className: "note" }, `${this.words.sources}: ${data.sources.filter((one) => one.cited).map((one) => `[${one.n}] ${visible(one.name)}`).join(" · ")}`));
    if (["cancelled", "abandoned"].includes(data.reason)) this.view.note(this.words.stopped);
    if (["max_rounds", "max_handoffs", "budget"].includes(data.reason)) this.view.note(this.words.limited);
    this.view.emit("done", { run: this.run, answer: data.answer, reason: data.reason, cost: data.cost });
  }

  // what was under way is so no more
  end() {
    for (const { item } of this.writing.values()) item.remove();
    this.writing.clear();
    for (const { name } of this.calls.values()) name.className = "";
    this.calls.clear();
  }
}

// a text without the signal at its end
function withoutEnd(text, signal) {
  return signal && text ? text.trimEnd().slice(0, -signal.length).trimEnd() : text;
}

const speaker = (data) => `${data.group ?? ""}/${data.task ?? ""}/${data.agent_id}`;

function table(output) {
  const text = (value) => visible(typeof value === "string" ? value : JSON.stringify(value));
  const rows = Object.entries(output).map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, visible(name)), element("td", {}, text(value))));
  return element("table", {}, element("tbody", {}, ...rows));
}

// which of the chats of a page it is, so that each keeps its own conversation
function placeOf(host) {
  if (host.id) return ` #${host.id}`;
  const place = [...document.querySelectorAll("crew-chat")].indexOf(host);
  return place > 0 ? ` ${place}` : "";
}

// where a page keeps nothing, a reload begins anew
function stored(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key)) ?? {};
  } catch {
    return {};
  }
}

function store(key, value) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // storage is not allowed here
  }
}

if (!customElements.get("crew-chat")) customElements.define("crew-chat", CrewChat);
