// All runs, newest first, searched and filtered; and the place where one is started.

import { every, get, start } from "../api.js";
import { button, cards, element, leftOut, money, seconds, sendOnEnter } from "../page.js";
import { columnsOf, rowOf } from "../runs/columns.js";
import { actsOf, filtersOf, viewsOf } from "../runs/filters.js";
import { locale, t } from "../words.js";

const LIMIT = 50;
const LOOK_MILLIS = 5000;
const SUM_MILLIS = 30_000;
// that an address may have
const MAX_PAGES = 20;

export async function runsPage({ signal, go, title, crew }) {
  title(t("Runs"));
  const list = element("tbody");
  // one button for all pages: one that is replaced between press and release loses its click
  const more = button(t("more"), () => following(last), { hidden: true });
  const head = element("thead");
  const columns = columnsOf(() => again().catch(() => {}));
  const filters = filtersOf(crew, () => {
    shown = summedOf = "";
    summed = 0;
    filtered += 1;
    pages = 1;
    // no page of these filters is to follow one of those before
    offer(null);
    keep();
    fill().catch(() => {});
  });
  const sums = element("p", { className: "small totals", role: "status" });
  const page = (after) => get(`/runs?${new URLSearchParams({ ...filters.asked(), limit: LIMIT, ...(after && { after }) })}`, { signal });

  let pages = 0;
  let asked = 0; // what was asked before is not shown after what was asked later
  let filtered = 0; // how often the filters have changed
  let summed = 0; // when the totals were read
  let summedOf = ""; // what was shown then
  let shown = "";
  let last = null; // where the next page begins
  async function fill() {
    const turn = (asked += 1);
    const { runs, next } = await page();
    if (turn !== asked) return;
    // rows that stay the same stay where they are: somebody may be about to click one
    const found = JSON.stringify([runs, next]);
    const same = found === shown;
    shown = found;
    sum().catch(() => { summedOf = ""; });
    if (same) return;
    head.replaceChildren(columns.head());
    if (runs.length) update(list, runs, columns.names());
    else list.replaceChildren(element("tr", {}, element("td", { colSpan: columns.names().length }, t("No runs."))));
    pages = 1;
    offer(next);
    keep();
  }
  // all rows anew, as many pages as there were
  async function again() {
    const wanted = pages;
    shown = "";
    await fill();
    while (last && pages < wanted) await following(last);
  }
  // all that match are read for it, so not with each look
  async function sum() {
    if (shown === summedOf || Date.now() - summed < SUM_MILLIS) return;
    summed = Date.now();
    summedOf = shown;
    const turn = filtered;
    const { totals } = await get(`/runs?${new URLSearchParams({ ...filters.asked(), limit: 1, totals: 1 })}`, { signal });
    if (turn === filtered) sums.textContent = totalsText(totals);
  }
  async function following(after) {
    const turn = (asked += 1);
    const { runs, next } = await page(after);
    if (turn !== asked) return;
    pages += 1;
    list.append(...runs.map((run) => rowOf(run, columns.names())));
    offer(next);
    keep();
  }
  // the address shows this list again: after a reload, to whom it is sent, and on the way back
  function keep() {
    const parts = new URLSearchParams({ ...filters.given(), ...columns.given(), ...(pages > 1 && { pages }) }).toString();
    if (!signal.aborted) history.replaceState(history.state, "", location.pathname + (parts && `?${parts}`));
  }
  function offer(next) {
    more.hidden = !next;
    last = next;
  }
  pages = Math.min(MAX_PAGES, Number(new URLSearchParams(location.search).get("pages")) || 1);
  await again();
  // further pages are what somebody reads now: they are left alone
  every(LOOK_MILLIS, async () => pages === 1 && fill(), signal);
  const table = element("table", { className: "runs" }, head, list);
  const acts = actsOf(filters, () => go(location.pathname + location.search));
  return element("div", {}, askForm(go), filters.node, ...leftOut(filters.unknown), element("div", { className: "buttons views" }, ...viewsOf(go), columns.node), sums, cards(table), element("div", { className: "buttons" }, more, ...acts));
}

// what all runs of the filter come to
function totalsText({ statuses, count, tokens, cost_usd: usd, is_unpriced: unpriced, p50_seconds: half, p95_seconds: most, has_more: more }) {
  if (!count) return "";
  const number = (value) => value.toLocaleString(locale);
  const states = Object.entries(statuses).map(([status, runs]) => `${number(runs)} ${t(status)}`);
  const times = half === null ? [] : [`${t("half of them within")} ${seconds(half)}`, `95 % ${t("within")} ${seconds(most)}`];
  const sum = money({ usd, unpriced: unpriced || more });
  return [`${more ? "≥ " : ""}${number(count)} ${t("runs")}: ${states.join(", ")}`, `${number(tokens)} ${t("tokens")}`, ...(sum ? [sum] : []), ...times].join(" · ");
}

// Only rows that have changed are made anew, so that the others keep the keyboard's focus.
function update(list, runs, names) {
  const known = new Map([...list.children].map((row) => [row.dataset.shows, row]));
  runs.forEach((run, place) => {
    const made = known.get(JSON.stringify([run, names])) ?? rowOf(run, names);
    if (list.children[place] === made) return;
    const before = list.children[place];
    const isFocused = before?.dataset.run === run.run_id && before.contains(document.activeElement);
    list.insertBefore(made, before ?? null);
    if (isFocused) made.querySelector("a").focus();
  });
  while (list.children.length > runs.length) list.lastElementChild.remove();
}

function askForm(go) {
  const text = element("textarea", { id: "query", rows: 2, required: true, placeholder: t("Ask the crew"), ariaLabel: t("Ask the crew") });
  const send = button(t("Start"), async () => {
    if (text.reportValidity()) go(`/runs/${await start(text.value)}`);
  }, { className: "main", id: "send" });
  sendOnEnter(text, send);
  return element("div", { className: "answer ask" }, text, send);
}
