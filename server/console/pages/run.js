// The page of one run: its conversation, the way it took, its times; it comes back after anything.

import { every, get, patient, post, start } from "../api.js";
import { Graph } from "../drawn/graph.js";
import { conversationPath } from "./conversations.js";
import { kept } from "../opened.js";
import { button, chip, clock, element, frame, json, link, seconds, spent, visible } from "../page.js";
import { Replay } from "../replay.js";
import { Talk } from "../talk.js";
import { Waterfall } from "../run/waterfall.js";
import { Why } from "../run/why.js";
import { t } from "../words.js";

// raw events that are shown between two frames: each may be long
const RAW_AT_ONCE = 50;
// events that are shown between two frames
const AT_ONCE = 200;
const LOOK_MILLIS = 3000;
// what is older has not just happened
const LIVE_MILLIS = 10_000;

export async function runPage(id, { signal, go, title }) {
  const run = await get(`/runs/${id}`, { signal });
  title(run.query.slice(0, 60));
  const page = new RunPage(run, signal, go);
  page.follow().catch((error) => page.tell(error.message));
  return page.node;
}

// the run as one file, and beside another one
function exports(id) {
  const file = (form, words) => element("a", { href: `/api/crew/runs/${id}/export?format=${form}`, download: `${id}.${form}`, className: "button" }, words);
  const beside = link(`/compare?a=${id}`, t("Compare"));
  beside.className = "button";
  return element("div", { className: "buttons" }, file("html", t("Export as a page")), file("md", "Markdown"), file("json", "JSON"), beside);
}

class RunPage {
  constructor(run, signal, go) {
    Object.assign(this, { run, signal, go, after: 0, raw: [], rawShown: 0, showing: false, queue: [], drained: null, awake: false, used: { total_tokens: 0 }, cost: { usd: 0, unpriced: 0 }, entry: null, since: Date.parse(run.started_at), resume: () => {} });
    this.talk = new Talk(run.run_id, run.query, { user: run.user_id, conversation: run.conversation_id, asker: ["schedule", "hook"].includes(run.source) ? `${t(run.source)} ${run.source_name}` : t("You") }, () => this.wake(), (after) => this.fork(after));
    this.graph = new Graph();
    this.waterfall = new Waterfall();
    this.head = element("header", { className: "run" });
    this.alert = element("p", { className: "error", role: "alert" });
    this.log = element("pre", { className: "raw", tabIndex: 0 });
    const raw = kept("raw", element("details", {}, element("summary", {}, t("Raw events")), this.log));
    raw.ontoggle = () => this.showRaw();
    this.rawBox = raw;
    const way = kept("route", element("details", { open: true }, element("summary", {}, t("Route")), this.graph.node));
    const times = kept("timeline", element("details", { open: true }, element("summary", {}, t("Timeline")), this.waterfall.node));
    this.live = element("div", { ariaLive: "polite", className: "hidden" });
    const side = element("aside", {}, way, times, new Why(run.run_id).node, new Replay(run.run_id).node, exports(run.run_id), raw);
    this.node = element("div", { className: "run-page" }, this.head, this.alert, element("div", { className: "panes" }, this.talk.node, side), this.live);
    this.showHead();
  }

  // Read on until the run has ended; while it is paused, look whether somebody has answered.
  async follow() {
    this.graph.load().catch(() => {});
    every(1000, async () => this.tick(), this.signal);
    const crew = patient(() => this.tell(t("The connection is lost; trying again")));
    for (;;) {
      for await (const event of crew.follow(this.run.run_id, { after: this.after, signal: this.signal })) this.take(event);
      // what is shown late must not be newer than how the run stands
      await this.drained;
      if (this.signal.aborted) return;
      const run = await crew.run(this.run.run_id, { signal: this.signal });
      this.tell("");
      this.run = run;
      this.showHead();
      // the last events of an ended run may be lost
      if (run.status !== "running") this.waterfall.live = false;
      this.waterfall.draw();
      if (!["running", "paused"].includes(run.status)) return;
      // it may ask again already, by events that are not read yet
      if (run.status === "paused" && run.pause <= this.after) await this.pause();
    }
  }

  // until the person answers here, or somebody elsewhere
  async pause() {
    const over = new AbortController();
    await new Promise((resolve) => {
      this.resume = resolve;
      if (this.awake) resolve();
      this.signal.addEventListener("abort", resolve, { once: true });
      every(LOOK_MILLIS, async () => {
        // it may have been answered, and ask again
        const { status, pause } = await get(`/runs/${this.run.run_id}`);
        if (status !== "paused" || pause !== this.run.pause) resolve();
      }, over.signal);
    });
    over.abort();
    this.awake = false;
  }

  wake() {
    this.awake = true;
    this.resume();
  }

  take(event) {
    this.tell("");
    const { metadata: data, type } = event;
    if (type === "warning" && data.code === "events_lost" && data.from) {
      // the events from there on come again
      this.queue = [];
      this.raw = [];
      this.rawShown = 0;
      this.log.textContent = "";
      this.after = 0;
      for (const one of [this.talk, this.graph, this.waterfall]) one.clear();
      return;
    }
    if (data.seq) {
      this.after = data.seq;
      this.raw.push(event);
    }
    this.queue.push(event);
    this.drained ??= this.drain();
  }

  async drain() {
    try {
      while (this.queue.length && !this.signal.aborted) {
        await frame();
        this.showSome();
      }
    } finally {
      this.drained = null;
    }
    this.reach();
  }

  // the event that the address names: once, as soon as it is shown
  reach() {
    const place = this.talk.places.get(Number(location.hash.slice(1)));
    if (!place || this.reached) return;
    this.reached = true;
    place.classList.add("reached");
    if (place.tagName === "DETAILS") place.open = true;
    place.scrollIntoView({ block: "center" });
  }

  showSome() {
    const near = this.isNearEnd();
    const some = this.queue.splice(0, AT_ONCE);
    for (const event of some) this.showEvent(event);
    if (some.some(({ type }) => type !== "agent_delta" && type !== "agent_thinking")) this.graph.draw();
    this.waterfall.draw();
    this.showRaw();
    if (near) this.talk.node.lastElementChild?.scrollIntoView({ block: "end" });
  }

  // an event that cannot be shown must not keep the others from it; it is among the raw ones
  showEvent(event) {
    try {
      for (const one of [this.talk, this.graph, this.waterfall]) one.show(event);
      this.note(event);
    } catch (error) {
      console.error(event, error);
      this.talk.note(null, "error", `${t("This event cannot be shown")}: ${event.type}`);
    }
  }

  // whether somebody reads what comes now, and not what was before
  isNearEnd() {
    const newest = this.raw.at(-1);
    const isNow = newest && Date.now() - Date.parse(newest.timestamp) < LIVE_MILLIS;
    return isNow && this.talk.node.lastElementChild.getBoundingClientRect().bottom < window.innerHeight + 200;
  }

  // what a reader of the screen is told, and how the run stands
  note({ type, agent, content, timestamp, metadata: data }) {
    if (type === "start") {
      this.stands("running");
      this.since = Date.parse(timestamp);
      this.entry ??= data.entry_agent;
    }
    if (type === "done") this.run.duration_seconds = data.duration_seconds;
    if (type === "agent_response") {
      this.live.textContent = `${agent}: ${content.slice(0, 200)}`;
      this.used.total_tokens += data.usage.total_tokens;
      this.cost.usd += data.cost?.usd ?? 0;
      this.cost.unpriced += data.cost?.unpriced ?? 0;
    }
    if (type === "pause") this.live.textContent = `${agent} ${t("asks")}`;
    if (type === "error") this.live.textContent = `${t("failed")}: ${content.slice(0, 200)}`;
    if (type !== "done") return;
    if (data.reason === "paused") this.stands("paused");
    // behind the last answer, which is read first
    else this.live.append(element("p", {}, t(data.reason === "cancelled" ? "cancelled" : "completed")));
  }

  stands(status) {
    if (this.run.status === status) return;
    this.run.status = status;
    this.showHead();
  }

  tick() {
    this.talk.tick();
    if (this.run.status !== "running") return;
    this.waterfall.draw();
    this.facts.replaceChildren(...this.factsOf());
  }

  tell(text) {
    this.alert.textContent = text;
  }

  factsOf() {
    const { started_at: started, status, duration_seconds: lasted, usage, cost } = this.run;
    // a wait for a person does not count, and the row has the usage of what has ended
    const isRunning = status === "running";
    const took = isRunning ? lasted + Math.max(0, Date.now() - this.since) / 1000 : lasted;
    return [clock(started), ` · ${seconds(took)} · ${isRunning ? spent(this.used, this.cost) : spent(usage, cost)}`];
  }

  showHead() {
    const { run_id: id, query, status } = this.run;
    this.facts = element("small", {}, ...this.factsOf());
    const name = element("h2", {}, chip(status), " ", visible(query.split("\n")[0].slice(0, 200)));
    const about = element("p", {}, element("code", {}, id), " · ", this.facts);
    const { conversation_id: of, user_id: user, exchange } = this.run;
    // with what differs from it to what is served now
    if (this.run.revision) about.append(" · ", link(`/revisions?r=${encodeURIComponent(this.run.revision)}`, `${t("revision")} ${visible(this.run.revision.slice(0, 8))}`));
    if (of) about.append(" · ", link(conversationPath(of, user), `${t("Conversation")}, ${exchange}.`));
    const acts = element("div", { className: "buttons" }, ...this.acts(id, query, status));
    // what is offered to be copied stays where it is, with the focus, when the run ends meanwhile
    for (const old of this.head.querySelectorAll(":scope > :not(.copied)")) old.remove();
    this.head.prepend(name, about, acts);
  }

  acts(id, query, status) {
    const acts = [];
    if (["running", "paused"].includes(status)) acts.push(button(t("Cancel"), () => this.act(id, "cancel")));
    if (status === "failed") acts.push(button(t("Retry from the failed step"), () => this.act(id, "retry"), { className: "main" }));
    acts.push(button(t("Run again"), async () => this.go(`/runs/${await this.again(query)}`)));
    const copy = (words, text) => {
      const made = button(t(words), async () => {
        if (await copied(text())) made.textContent = t("Copied");
        else this.offer(text());
      });
      return made;
    };
    acts.push(copy("Copy as JSON", () => JSON.stringify(this.raw, null, 2)));
    acts.push(copy("Copy as curl", () => `curl -N -H "Authorization: Bearer $CREW_TOKEN" '${location.origin}/api/crew/runs/${id}/events'`));
    return acts;
  }

  // the same question to the crew as it is now, by whom it was begun
  async again(query) {
    const crew = await get("");
    const begun = this.entry && this.entry !== crew.entry_point ? { resume_agent_id: this.entry } : {};
    return start(query, { ...begun, priority: this.run.priority });
  }

  // where the page may not write to the clipboard: a text that is selected
  offer(text) {
    const field = element("textarea", { className: "copied", readOnly: true, value: text, rows: 4, ariaLabel: t("Copy this text") });
    this.head.querySelector(".copied")?.remove();
    this.head.append(field);
    field.focus();
    field.select();
  }

  async fork(after) {
    const answer = await post(`/runs/${this.run.run_id}/fork`, { after });
    this.go(`/runs/${(await answer.json()).run_id}`);
  }

  async act(id, what) {
    await post(`/runs/${id}/${what}`);
    this.wake();
    // a run that had ended is read on
    if (what === "retry") this.go(`/runs/${id}`);
  }

  async showRaw() {
    if (this.showing) return;
    this.showing = true;
    while (this.rawBox.open && this.rawShown < this.raw.length && !this.signal.aborted) {
      const more = this.raw.slice(this.rawShown, this.rawShown + RAW_AT_ONCE);
      this.rawShown += more.length;
      this.log.append(more.map((event) => `${json(event)}\n`).join(""));
      await frame();
    }
    this.showing = false;
  }
}

// only pages of https and of this machine have a clipboard
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
