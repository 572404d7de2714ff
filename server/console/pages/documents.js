// Documents: sent by dropping them, listed with how far they are, searched, deleted; passages beside an answer.

import { call, every, get } from "../api.js";
import { button, chip, clock, element, visible } from "../page.js";
import { t } from "../words.js";

const LIMIT = 200;
const LOOK_MILLIS = 1000;
const WAITING = ["received", "reading", "summarizing"];

const given = (name) => new URLSearchParams(location.search).get(name) ?? "";
const encoded = (place) => {
  const known = { user_id: place.user, conversation_id: place.conversation };
  return Object.fromEntries(Object.entries(known).filter(([, value]) => value));
};
const path = (collection, name, place, more = {}, part = "") => {
  const parts = new URLSearchParams({ ...encoded(place), ...more });
  return `/documents/${collection}${name === null ? "" : `/${encodeURIComponent(name)}`}${part}?${parts}`;
};

export async function documentsPage({ signal, title, crew }) {
  title(t("Documents"));
  const rules = crew.documents ?? [];
  const choice = element("select", { name: "collection", ariaLabel: t("collection") }, ...rules.map((one) => element("option", { value: one.name }, one.name)));
  choice.value = rules.some((one) => one.name === given("collection")) ? given("collection") : rules[0]?.name ?? "";
  const user = element("input", { value: given("user_id"), maxLength: 256, placeholder: t("user"), ariaLabel: t("user") });
  const conversation = element("input", { value: given("conversation_id"), maxLength: 128, placeholder: t("conversation"), ariaLabel: t("conversation") });
  const search = element("input", { type: "search", maxLength: 200, placeholder: t("Search in documents"), ariaLabel: t("Search in documents"), value: given("q") });
  const body = element("div");
  let inner = new AbortController();

  async function fill() {
    inner.abort();
    inner = new AbortController();
    const rule = rules.find((one) => one.name === choice.value);
    user.hidden = rule?.scope === "crew";
    conversation.hidden = rule?.scope !== "conversation";
    const place = { user: user.hidden ? "" : user.value, conversation: conversation.hidden ? "" : conversation.value };
    history.replaceState(null, "", `/documents?${new URLSearchParams({ collection: choice.value, ...encoded(place), ...(search.value && { q: search.value }) })}`);
    const misses = rule?.scope === "conversation" && !place.conversation;
    const text = misses ? t("Name a conversation.") : null;
    body.replaceChildren(text ? element("p", {}, text) : await collection(rule, place, search.value, AbortSignal.any([signal, inner.signal])));
  }

  const retry = () => fill().catch((error) => body.replaceChildren(element("p", { className: "error", role: "alert" }, error.message)));
  for (const one of [choice, user, conversation, search]) one.onchange = retry;
  await retry();
  const filters = element("form", { className: "filters", role: "search", onsubmit: () => false }, choice, user, conversation, search);
  return element("div", { className: "documents" }, filters, body);
}

// a collection of one owner: what may be dropped there, what there is, or what words find
export async function collection(rule, place, words, signal) {
  const list = element("ul", { className: "items", ariaLabel: t("Documents") });
  const about = element("p", { className: "small" }, visible(rule.description));
  let shown = "";

  async function fill() {
    const found = await get(path(rule.name, null, place, words ? { q: words, limit: 20 } : { limit: LIMIT }), { signal });
    const state = JSON.stringify(found);
    if (state === shown) return;
    shown = state;
    const none = element("li", {}, t(words ? "No passage has these words." : "No documents."));
    const items = words ? found.passages.map(passage) : found.documents.map((one) => item(one, rule, place, fill));
    list.replaceChildren(...(items.length ? items : [none]));
  }

  await fill();
  if (!words) every(LOOK_MILLIS, () => (shown && WAITING.some((one) => shown.includes(`"${one}"`)) ? fill() : Promise.resolve()), signal);
  return element("div", {}, about, ...(rule.uploads && !words ? [dropZone(rule, place, fill)] : []), list);
}

function item(one, rule, place, fill) {
  const facts = element("p", { className: "small" }, chip(one.status), ` ${one.kind} · ${one.chars || one.size} ${t(one.chars ? "characters" : "bytes")} · `, clock(one.created_at));
  const why = one.reason ? [element("p", { className: "error" }, visible(one.reason))] : [];
  const notes = one.notes.map((text) => element("p", { className: "small" }, `${t("left out")}: ${visible(text)}`));
  const summary = one.summary ? [element("p", {}, visible(one.summary))] : [];
  const remove = button(t("Delete"), async () => {
    if (!confirm(`${t("Delete this document?")} ${one.name}`)) return;
    await call(path(rule.name, one.name, place), { method: "DELETE" });
    await fill();
  }, { ariaLabel: `${t("Delete")}: ${one.name}` });
  const buttons = rule.uploads ? [element("div", { className: "buttons" }, remove)] : [];
  return element("li", { className: "card" }, element("b", {}, visible(one.name)), facts, ...why, ...summary, ...notes, ...buttons);
}

function passage(one) {
  const place = one.place ? `, ${visible(one.place)}` : "";
  return element("li", { className: "card" }, element("b", {}, visible(one.name), place), element("blockquote", { className: "passage" }, visible(one.text)));
}

// files are dropped here, or chosen; each says what became of it
function dropZone(rule, place, fill) {
  const choose = element("input", { type: "file", multiple: true, ariaLabel: t("Choose files") });
  const said = element("ul", { className: "small", ariaLive: "polite" });
  const kinds = `${rule.accept.join(", ")} · ${rule.max_file_mb} MB`;
  const zone = element("div", { className: "drop" }, element("p", {}, t("Drop files here, or choose them"), element("small", {}, ` (${kinds})`)), choose, said);

  async function send(files) {
    said.replaceChildren();
    for (const file of files) {
      const line = element("li", {}, `${visible(file.name)} …`);
      said.append(line);
      try {
        await call(path(rule.name, file.name, place), { method: "PUT", body: file });
        line.textContent = `${visible(file.name)} ✓`;
      } catch (error) {
        line.replaceChildren(visible(file.name), element("span", { className: "error", role: "alert" }, ` ${error.message}`));
      }
      await fill();
    }
  }

  zone.ondragover = (event) => {
    event.preventDefault();
    zone.classList.add("over");
  };
  zone.ondragleave = () => zone.classList.remove("over");
  zone.ondrop = (event) => {
    event.preventDefault();
    zone.classList.remove("over");
    send(event.dataTransfer.files);
  };
  choose.onchange = async () => {
    await send(choose.files);
    choose.value = "";
  };
  return zone;
}

// the passages that a run was shown, beside its answer: the words of each come when it is opened
export function sources(found, place) {
  const cited = found.filter((one) => one.cited);
  const rest = found.filter((one) => !one.cited);
  const lists = [[t("Sources"), cited, true], [t("Read, and not cited"), rest, false]].filter(([, ones]) => ones.length);
  return element("div", { className: "sources" }, ...lists.map(([name, ones, open]) => {
    const items = ones.map((one) => source(one, place));
    return element("details", { open }, element("summary", {}, name), ...items);
  }));
}

function source(one, place) {
  const words = element("blockquote", { className: "passage" });
  const name = one.place ? `${one.name}, ${one.place}` : one.name;
  const made = element("details", {}, element("summary", {}, `[${one.n}] ${visible(name)}`), words);
  made.ontoggle = async () => {
    if (!made.open || words.textContent) return;
    try {
      const { document_id, text } = await get(path(one.collection, one.name, place, { from: one.from, chars: Math.max(1, one.to - one.from) }, "/text"));
      words.textContent = document_id === one.document ? visible(text) : t("There is another version now.");
    } catch (error) {
      words.textContent = error.message;
    }
  };
  return made;
}
