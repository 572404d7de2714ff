// Where words were said, newest first; the search goes on as far as somebody wants it to.

import { get } from "../api.js";
import { button, chip, clock, element, link, visible } from "../page.js";
import { t } from "../words.js";

const LIMIT = 50;
// a word of one letter is everywhere
const LEAST = 2;

export async function searchPage({ signal, title }) {
  title(t("Search"));
  const words = element("input", { type: "search", maxLength: 200, value: new URLSearchParams(location.search).get("q") ?? "", placeholder: t("Search in all that was said"), ariaLabel: t("Search in all that was said") });
  const list = element("ol", { className: "hits", ariaLabel: t("What was found") });
  const state = element("p", { className: "small", role: "status" });
  const more = element("div", { className: "buttons" });
  let turn = 0; // what was searched before is not shown after what was searched later

  async function look(after = "") {
    const mine = (turn += 1);
    const asked = words.value.trim();
    history.replaceState(history.state, "", `/search${asked ? `?${new URLSearchParams({ q: asked })}` : ""}`);
    if (!after) list.replaceChildren();
    more.replaceChildren();
    state.textContent = asked.length < LEAST ? t("Write two letters or more.") : t("Searching…");
    if (asked.length < LEAST) return;
    const found = await get(`/search?${new URLSearchParams({ q: asked, limit: LIMIT, ...(after && { after }) })}`, { signal });
    if (mine !== turn) return;
    list.append(...found.hits.map(hit));
    const none = list.children.length ? "" : t("Nothing was found.");
    state.replaceChildren(none, ...(found.next && found.reached ? [` ${t("Looked back to")} `, clock(found.reached)] : []));
    if (found.next) more.append(button(t("go on"), () => look(found.next)));
  }

  const wrong = (error) => state.replaceChildren(element("span", { className: "error", role: "alert" }, error.message));
  const filters = element("form", { className: "filters", role: "search" }, words);
  filters.onsubmit = (event) => {
    event.preventDefault();
    look().catch(wrong);
  };
  words.onchange = () => look().catch(wrong);
  await look();
  return element("div", { className: "search-page" }, filters, state, list, more);
}

function hit(one) {
  const place = one.seq === null ? "" : `#${one.seq}`;
  const { text, start, end } = one;
  const quote = element("p", { className: "found" }, visible(text.slice(0, start)), element("mark", {}, visible(text.slice(start, end))), visible(text.slice(end)));
  const facts = element("p", { className: "small" }, clock(one.at), ` · ${t(one.kind)}${one.who ? ` ${visible(one.who)}` : ""}`);
  return element("li", { className: "card" }, element("p", {}, chip(one.status), " ", link(`/runs/${one.run_id}${place}`, visible(one.query.slice(0, 120)))), quote, facts);
}
