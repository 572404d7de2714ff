// Conversations of a user: a list that is searched; and one, with its runs, its summary and what comes next.

import { call, every, get, patient, post, start } from "../api.js";
import { askingCard } from "../asking.js";
import { attachedTo, ImageField } from "../attached.js";
import { markdown } from "../shared/markdown.js";
import { collection } from "./documents.js";
import { button, cards, chip, clock, element, link, sendOnEnter, visible } from "../page.js";
import { Talk } from "../talk.js";
import { asked } from "../named.js";
import { t } from "../words.js";

const LIMIT = 50;
const LOOK_MILLIS = 2000;
const API = "/conversations";

// whom the page is for, where the token does not say it
const given = () => new URLSearchParams(location.search).get("user_id") ?? "";
const asUser = (user, more = {}) => new URLSearchParams({ ...(user && { user_id: user }), ...more }).toString();

export const conversationPath = (id, user) => `${API}/${id}${user ? `?${asUser(user)}` : ""}`;

export async function conversationsPage({ signal, go, title }) {
  title(t("Conversations"));
  const list = element("tbody");
  const more = element("div", { className: "buttons" });
  const search = element("input", { type: "search", maxLength: 200, placeholder: t("Search in questions"), ariaLabel: t("Search in questions"), value: new URLSearchParams(location.search).get("q") ?? "" });
  const user = element("input", { value: given(), maxLength: 256, placeholder: t("user"), ariaLabel: t("user") });
  let asked = 0; // what was asked before is not shown after what was asked later
  const page = (after) => get(`${API}?${asUser(user.value, { limit: LIMIT, ...(search.value && { q: search.value }), ...(after && { after }) })}`, { signal });
  async function fill() {
    const turn = (asked += 1);
    const { conversations, next } = await page();
    if (turn !== asked) return;
    const none = element("tr", {}, element("td", { colSpan: 4 }, t("No conversations.")));
    list.replaceChildren(...(conversations.length ? conversations.map((one) => row(one, user.value)) : [none]));
    offer(next);
  }
  function offer(next) {
    more.replaceChildren();
    if (!next) return;
    more.append(button(t("more"), async () => {
      const following = await page(next);
      list.append(...following.conversations.map((one) => row(one, user.value)));
      offer(following.next);
    }));
  }
  // the address shows this list again
  search.oninput = user.onchange = () => {
    const parts = asUser(user.value, search.value ? { q: search.value } : {});
    history.replaceState(null, "", parts ? `${API}?${parts}` : API);
    fill().catch(() => {});
  };
  await fill();
  const begin = button(t("New conversation"), async () => {
    const answer = await post(API, user.value ? { user_id: user.value } : {});
    go(conversationPath((await answer.json()).conversation_id, user.value));
  }, { className: "main" });
  const head = [t("conversation"), t("status"), t("used"), t("exchanges")].map((word) => element("th", { scope: "col" }, word));
  const table = element("table", { className: "conversations" }, element("thead", {}, element("tr", {}, ...head)), list);
  const filters = element("form", { className: "filters", role: "search", onsubmit: () => false }, search, user);
  return element("div", {}, element("div", { className: "buttons" }, begin), filters, cards(table), more);
}

function row(one, user) {
  const name = link(conversationPath(one.conversation_id, user), visible(one.title || one.conversation_id));
  return element("tr", {}, element("td", {}, name), element("td", {}, ...(one.status ? [chip(one.status)] : [])), element("td", {}, clock(one.used_at)), element("td", {}, String(one.exchanges)));
}

export async function conversationPage(id, { signal, go, title, crew }) {
  const page = new ConversationPage(id, given(), signal, go, title);
  page.node.append(...papers(crew.documents ?? [], { user: given(), conversation: id }, signal));
  await page.fill();
  every(LOOK_MILLIS, () => page.fill(), signal);
  return page.node;
}

class ConversationPage {
  constructor(id, user, signal, go, title) {
    Object.assign(this, { id, user, signal, go, title, known: 0, shown: "", shownOpen: "" });
    this.place = { user, conversation: id };
    this.list = element("ol", { className: "talk", ariaLabel: t("Conversation") });
    this.open = element("ol", { className: "talk", ariaLabel: t("Now"), ariaLive: "polite" });
    this.head = element("header", { className: "run" });
    this.summary = element("details", { hidden: true });
    this.ask = this.form();
    this.node = element("div", { className: "conversation-page" }, this.head, this.summary, this.list, this.open, this.ask);
  }

  path = (more = "", parameters = {}) => `${API}/${this.id}${more}?${asUser(this.user, parameters)}`;

  // Exchanges do not change once they have ended: only those that are new, and the open one, are asked for.
  // One look at a time: two would show an exchange twice.
  fill() {
    this.looking ??= this.look().finally(() => (this.looking = null));
    return this.looking;
  }

  async look() {
    for (;;) {
      const found = await get(this.path("", { after: this.known, limit: LIMIT }), { signal: this.signal });
      const ended = found.exchanges.filter((one) => one.ended_at !== null);
      for (const one of ended) this.list.append(...exchange(one, this.place));
      this.known = ended.at(-1)?.exchange ?? this.known;
      if (found.next !== null) continue;
      this.show(found);
      await this.showOpen(found.exchanges.find((one) => one.ended_at === null));
      return;
    }
  }

  // what it asks is answered here, by the same card as on the run's page; it stays while it is the same
  async showOpen(one) {
    if (one?.status === "running") {
      this.showWork(one);
      return;
    }
    const state = JSON.stringify(one ?? null);
    if (state === this.shownOpen) return;
    const { waiting = null } = one?.status === "paused" ? await get(`/runs/${one.run_id}`, { signal: this.signal }) : {};
    this.shownOpen = state;
    const cards = waiting ? [element("li", {}, askingCard(one.run_id, waiting, () => this.fill()).node)] : [];
    this.drawOpen([...(one ? exchange(one, this.place) : []), ...cards], cards[0]);
  }

  // who uses the keyboard goes on with the next question (`card`), or with the next query
  drawOpen(items, card) {
    const left = card ? [this.open, this.ask] : [this.open];
    const held = left.some((one) => one.contains(document.activeElement));
    this.open.replaceChildren(...items);
    this.ask.hidden = card !== undefined;
    if (held) (card ?? this.ask).querySelector("textarea, button")?.focus();
  }

  // what is under way, as it comes; what it comes to is looked at when it pauses or ends
  showWork(one) {
    this.talk?.tick();
    if (this.talk?.runId === one.run_id) return;
    this.shownOpen = "";
    const place = { ...this.place, asker: t("You") };
    const talk = new Talk(one.run_id, one.query, place, () => this.fill(), () => this.go(`/runs/${one.run_id}`));
    this.talk = talk;
    this.drawOpen([element("li", {}, talk.node)]);
    // what cannot be followed now is tried again at a later look
    const wait = () => new Promise((done) => setTimeout(done, 5 * LOOK_MILLIS));
    this.follow(talk).catch(wait).finally(() => {
      if (this.talk === talk) this.talk = null;
      if (!this.signal.aborted) this.fill().catch(() => {});
    });
  }

  async follow(talk) {
    for await (const event of patient(() => {}).follow(talk.runId, { after: 0, signal: this.signal })) {
      try {
        if (event.type === "warning" && event.metadata.code === "events_lost") talk.clear();
        else talk.show(event);
      } catch (error) {
        console.error(event, error);
      }
    }
  }

  show(found) {
    const { title, summary } = found;
    const state = JSON.stringify([title, summary?.version]);
    if (state === this.shown) return;
    this.shown = state;
    this.title(title || t("Conversation"));
    const buttons = [
      button(t("Rename"), async () => {
        const name = prompt(t("Title"), title);
        if (!name) return;
        const headers = { "Content-Type": "application/json" };
        await call(`${API}/${this.id}`, { method: "PATCH", headers, body: JSON.stringify({ title: name, ...(this.user && { user_id: this.user }) }) });
        await this.fill();
      }),
      element("a", { className: "button", href: `/api/crew${this.path("/export", { format: "md" })}`, download: `${this.id}.md` }, t("Export")),
      button(t("Delete"), async () => {
        if (!confirm(t("Delete this conversation with all its runs?"))) return;
        await call(this.path("", { cancel: 1 }), { method: "DELETE" });
        this.go(`${API}${this.user ? `?${asUser(this.user)}` : ""}`);
      }),
    ];
    this.head.replaceChildren(element("h2", {}, visible(title || this.id)), element("div", { className: "buttons" }, ...buttons));
    this.summary.hidden = !summary;
    if (summary) this.summary.replaceChildren(element("summary", {}, t("Summary of older exchanges")), markdown(summary.summary), facts(summary.facts));
  }

  form() {
    const text = element("textarea", { rows: 2, required: true, placeholder: t("Ask the crew"), ariaLabel: t("Ask the crew") });
    const node = element("div", { className: "answer ask" });
    const images = new ImageField(node);
    const send = button(t("Send"), async () => {
      // an image may go without words
      text.required = !images.any;
      if (!text.reportValidity()) return;
      await start(text.value, { conversation_id: this.id, ...(this.user && { user_id: this.user }), ...images.given() });
      text.value = "";
      images.clear();
      await this.fill();
    }, { className: "main" });
    sendOnEnter(text, send);
    node.append(text, images.node, send);
    return node;
  }
}

// what the person sends in this conversation; looked at when it is opened
function papers(rules, place, signal) {
  const found = rules.filter((one) => one.uploads && one.scope === "conversation");
  return found.map((rule) => {
    const made = element("details", { className: "documents" }, element("summary", {}, `${t("Documents")}: ${rule.name}`));
    made.ontoggle = async () => {
      if (made.open && made.children.length === 1) made.append(await collection(rule, place, "", signal).catch((error) => element("p", { className: "error", role: "alert" }, error.message)));
    };
    return made;
  });
}

function exchange(one, place) {
  const run = element("small", {}, link(`/runs/${one.run_id}`, `${t("exchange")} ${one.exchange}`), " · ", clock(one.started_at));
  const states = { paused: "It waits for you.", running: "It is at work." };
  const state = element("p", {}, chip(one.status), " ", t(states[one.status] ?? ""));
  const said = one.answer ? [markdown(one.answer)] : [];
  const rest = element("div", {}, ...said, ...(one.answer && one.status === "completed" ? [] : [state]));
  const parts = one.parts.map(({ by, text, agent, decision, attachments }) => {
    // a decision on calls: what it was about, and what it was; any person may have made it
    if (decision) return element("li", {}, element("div", { className: "note" }, visible(by === "agent" ? asked(text) : t(text))));
    return by === "agent" ? speech(agent, markdown(text)) : mine(text, attachedTo(attachments, place));
  });
  return [mine(one.query, attachedTo(one.attachments, place)), ...parts, speech(one.agent, rest, " ", run)];
}

const mine = (text, attached) => element("li", {}, element("article", { className: "speech mine" }, element("header", {}, element("b", {}, t("You"))), element("p", { className: "plain" }, visible(text)), ...attached));

const speech = (agent, said, ...more) => element("li", {}, element("article", { className: "speech" }, element("header", {}, element("b", {}, visible(agent)), ...more), said));

const facts = (found) => element("ul", {}, ...found.map((one) => element("li", {}, visible(one.text), element("small", {}, ` “${visible(one.quote)}” (${one.exchange})`))));
