// What is remembered of a person: blocks, and items with the words that prove them; changed and forgotten here.

import { call, get } from "../api.js";
import { button, clock, element, json, visible } from "../page.js";
import { t } from "../words.js";

const LIMIT = 50;

const given = (name) => new URLSearchParams(location.search).get(name) ?? "";
const place = (user, more = "") => `/users/${encodeURIComponent(user)}${more}`;
const JSON_HEADERS = { "Content-Type": "application/json" };

export async function memoryPage({ signal, title, crew }) {
  title(t("Memory"));
  const { core = [], recall = null } = crew.memory ?? {};
  const user = element("input", { value: given("user_id"), maxLength: 256, placeholder: t("user"), ariaLabel: t("user") });
  const search = element("input", { type: "search", maxLength: 200, placeholder: t("Search in what is remembered"), ariaLabel: t("Search in what is remembered"), hidden: !recall, value: given("q") });
  const replaced = element("input", { type: "checkbox", checked: given("replaced") === "1" });
  const older = element("label", { hidden: !recall }, replaced, ` ${t("with what was replaced")}`);
  const blocks = element("div", { className: "blocks" });
  const items = element("ul", { className: "items", ariaLabel: t("What is remembered") });
  const more = element("div", { className: "buttons" });
  let turn = 0; // what was asked before is not shown after what was asked later

  const page = (after = "") => {
    const words = search.value ? { q: search.value } : { ...(after && { after }) };
    return get(place(user.value, `/recall?${new URLSearchParams({ limit: LIMIT, ...words, ...(replaced.checked && { replaced: 1 }) })}`), { signal });
  };

  async function fill() {
    const mine = (turn += 1);
    const parts = new URLSearchParams({ ...(user.value && { user_id: user.value }), ...(search.value && { q: search.value }), ...(replaced.checked && { replaced: 1 }) }).toString();
    history.replaceState(null, "", `/memory${parts && `?${parts}`}`);
    const names = user.value ? core.filter((one) => one.scope === "user") : [];
    const found = await Promise.all(names.map((one) => get(place(user.value, `/core/${one.name}`), { signal })));
    const known = user.value && recall?.scope === "user" ? await page() : { items: [], next: null };
    if (mine !== turn) return;
    blocks.replaceChildren(...found.map((one, place) => block(one, names[place], user.value, fill)));
    show(known);
  }

  function show({ items: found, next }) {
    const none = element("li", {}, t(user.value ? "Nothing is remembered." : "Name a user."));
    items.replaceChildren(...(found.length ? found.map((one) => item(one, user.value, fill)) : [none]));
    offer(next);
  }

  function offer(next) {
    more.replaceChildren();
    if (!next) return;
    more.append(button(t("more"), async () => {
      const following = await page(next);
      items.append(...following.items.map((one) => item(one, user.value, fill)));
      offer(following.next);
    }));
  }

  for (const one of [user, search, replaced]) one.onchange = () => fill().catch((error) => items.replaceChildren(element("li", { className: "error", role: "alert" }, error.message)));
  await fill();
  const filters = element("form", { className: "filters", role: "search", onsubmit: () => false }, user, search, older);
  return element("div", { className: "memory" }, filters, blocks, items, more, recall ? adding(user, fill) : "");
}

// a block: its text, or its fields as JSON; who changed it last, and by which words
function block(one, { description, write }, user, fill) {
  const isText = typeof one.value === "string";
  const text = element("textarea", { rows: 4, value: isText ? one.value : json(one.value), ariaLabel: one.block, readOnly: !write.includes("people") });
  const last = one.version ? [`${t("version")} ${one.version}, ${t("by")} ${visible(one.who ?? one.by)}, `, clock(one.changed_at)] : [t("not changed yet")];
  const quote = one.quote ? [element("blockquote", {}, visible(one.quote))] : [];
  const save = button(t("Save"), async () => {
    let value = text.value;
    if (!isText) {
      try {
        value = JSON.parse(value);
      } catch {
        throw new Error(t("this is no JSON"));
      }
    }
    const headers = { ...JSON_HEADERS, "If-Match": `"${one.version}"` };
    await call(place(user, `/core/${one.block}`), { method: "PUT", headers, body: JSON.stringify({ value }) });
    await fill();
  });
  const buttons = write.includes("people") ? [element("div", { className: "buttons" }, save)] : [];
  return element("section", { className: "card" }, element("h2", {}, one.block), element("p", {}, visible(description)), text, element("p", { className: "small" }, ...last), ...quote, ...buttons);
}

// an item: what is remembered, from which words, and what may be done with it
function item(one, user, fill) {
  const quote = one.quote ? [element("blockquote", {}, visible(one.quote))] : [];
  const from = one.source.conversation ? ` · ${t("conversation")} ${one.source.conversation}` : "";
  const gone = one.replaced_by ? ` · ${t("replaced")}` : "";
  const facts = element("p", { className: "small" }, clock(one.seen_at), ` · ${t("by")} ${visible(one.who ?? one.by)}${from}${gone}`);
  const forget = button(t("Forget"), async () => {
    await call(place(user, `/recall/${one.id}`), { method: "DELETE" });
    await fill();
  }, { ariaLabel: `${t("Forget")}: ${one.text}` });
  return element("li", { className: "card" }, element("p", {}, visible(one.text)), ...quote, facts, element("div", { className: "buttons" }, forget));
}

function adding(user, fill) {
  const text = element("input", { required: true, maxLength: 500, placeholder: t("Something to remember"), ariaLabel: t("Something to remember") });
  const add = button(t("Remember"), async () => {
    if (!user.value || !text.reportValidity()) return;
    await call(place(user.value, "/recall"), { method: "POST", headers: JSON_HEADERS, body: JSON.stringify({ text: text.value }) });
    text.value = "";
    await fill();
  }, { className: "main" });
  return element("form", { className: "ask", onsubmit: () => false }, text, add);
}
