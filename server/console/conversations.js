// Conversations of a user: a list that is searched; and one, with its runs, its summary and what comes next.

import { call, every, get, post, start } from "./api.js";
import { markdown } from "./markdown.js";
import { button, chip, clock, element, link, sendOnEnter, visible } from "./page.js";
import { t } from "./words.js";

const LIMIT = 50;
const LOOK_MILLIS = 3000;
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
  return element("div", {}, element("div", { className: "buttons" }, begin), filters, element("div", { className: "wide", tabIndex: 0 }, table), more);
}

function row(one, user) {
  const name = link(conversationPath(one.conversation_id, user), visible(one.title || one.conversation_id));
  return element("tr", {}, element("td", {}, name), element("td", {}, ...(one.status ? [chip(one.status)] : [])), element("td", {}, clock(one.used_at)), element("td", {}, String(one.exchanges)));
}

export async function conversationPage(id, { signal, go, title }) {
  const page = new ConversationPage(id, given(), signal, go, title);
  await page.fill();
  every(LOOK_MILLIS, () => page.fill(), signal);
  return page.node;
}

class ConversationPage {
  constructor(id, user, signal, go, title) {
    Object.assign(this, { id, user, signal, go, title, known: 0, shown: "" });
    this.list = element("ol", { className: "talk", ariaLabel: t("Conversation") });
    this.head = element("header", { className: "run" });
    this.summary = element("details", { hidden: true });
    this.now = element("p", { ariaLive: "polite" });
    this.node = element("div", { className: "conversation-page" }, this.head, this.summary, this.list, this.now, this.form());
  }

  path = (more = "", parameters = {}) => `${API}/${this.id}${more}?${asUser(this.user, parameters)}`;

  // Exchanges do not change once they are there: only those that are new are asked for.
  async fill() {
    for (;;) {
      const found = await get(this.path("", { after: this.known, limit: LIMIT }), { signal: this.signal });
      for (const one of found.exchanges) this.list.append(...exchange(one));
      this.known = found.exchanges.at(-1)?.exchange ?? this.known;
      if (found.next !== null) continue;
      this.show(found);
      return;
    }
  }

  show(found) {
    const { title, status, run_id: run, summary } = found;
    const state = JSON.stringify([title, status, run, summary?.version]);
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
      element("a", { className: "button", href: `/api/crew${this.path("/export", { format: "md" })}`, target: "_blank" }, t("Export")),
      button(t("Delete"), async () => {
        if (!confirm(t("Delete this conversation with all its runs?"))) return;
        await call(this.path("", { cancel: 1 }), { method: "DELETE" });
        this.go(`${API}${this.user ? `?${asUser(this.user)}` : ""}`);
      }),
    ];
    this.head.replaceChildren(element("h2", {}, visible(title || this.id)), element("div", { className: "buttons" }, ...buttons));
    this.summary.hidden = !summary;
    if (summary) this.summary.replaceChildren(element("summary", {}, t("Summary of older exchanges")), markdown(summary.summary), facts(summary.facts));
    const isOpen = ["running", "paused"].includes(status);
    this.now.replaceChildren(...(isOpen ? [chip(status), " ", link(`/runs/${run}`, t(status === "paused" ? "It waits for you." : "It is at work."))] : []));
  }

  form() {
    const text = element("textarea", { rows: 2, required: true, placeholder: t("Ask the crew"), ariaLabel: t("Ask the crew") });
    const send = button(t("Send"), async () => {
      if (!text.reportValidity()) return;
      const run = await start(text.value, { conversation_id: this.id, ...(this.user && { user_id: this.user }) });
      text.value = "";
      this.go(`/runs/${run}`);
    }, { className: "main" });
    sendOnEnter(text, send);
    return element("div", { className: "answer ask" }, text, send);
  }
}

function exchange(one) {
  const said = one.answer ? markdown(one.answer) : element("p", {}, chip(one.status));
  const run = element("small", {}, link(`/runs/${one.run_id}`, `${one.exchange}. `), clock(one.started_at));
  return [
    element("li", {}, element("article", { className: "speech mine" }, element("header", {}, element("b", {}, t("You"))), element("p", { className: "plain" }, visible(one.query)))),
    element("li", {}, element("article", { className: "speech" }, element("header", {}, element("b", {}, visible(one.agent)), " ", run), said)),
  ];
}

const facts = (found) => element("ul", {}, ...found.map((one) => element("li", {}, visible(one.text), element("small", {}, ` “${visible(one.quote)}” (${one.exchange})`))));
