// All runs, newest first, searched and filtered; and the place where one is started.

import { every, get, post, start } from "../api.js";
import { conversationPath } from "./conversations.js";
import { button, chip, clock, element, link, money, seconds, sendOnEnter, spent, visible } from "../page.js";
import { locale, t } from "../words.js";

const SOURCES = ["user", "console", "api", "schedule", "hook", "fork"];
const STATUSES = ["running", "paused", "completed", "failed", "cancelled"];
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
  const page = (after) => get(`/runs?${new URLSearchParams({ ...filters.given(), limit: LIMIT, ...(after && { after }) })}`, { signal });

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
    if (runs.length) update(list, runs);
    else list.replaceChildren(element("tr", {}, element("td", { colSpan: 6 }, t("No runs."))));
    pages = 1;
    offer(next);
    keep();
  }
  // all that match are read for it, so not with each look
  async function sum() {
    if (shown === summedOf || Date.now() - summed < SUM_MILLIS) return;
    summed = Date.now();
    summedOf = shown;
    const turn = filtered;
    const { totals } = await get(`/runs?${new URLSearchParams({ ...filters.given(), limit: 1, totals: 1 })}`, { signal });
    if (turn === filtered) sums.textContent = totalsText(totals);
  }
  async function following(after) {
    const turn = (asked += 1);
    const { runs, next } = await page(after);
    if (turn !== asked) return;
    pages += 1;
    list.append(...runs.map(row));
    offer(next);
    keep();
  }
  // the address shows this list again: after a reload, to whom it is sent, and on the way back
  function keep() {
    const parts = new URLSearchParams({ ...filters.given(), ...(pages > 1 && { pages }) }).toString();
    if (!signal.aborted) history.replaceState(history.state, "", location.pathname + (parts && `?${parts}`));
  }
  function offer(next) {
    more.hidden = !next;
    last = next;
  }
  const wanted = Math.min(MAX_PAGES, Number(new URLSearchParams(location.search).get("pages")) || 1);
  await fill();
  while (last && pages < wanted) await following(last);
  // further pages are what somebody reads now: they are left alone
  every(LOOK_MILLIS, async () => pages === 1 && fill(), signal);
  const head = [t("status"), t("query"), t("agent"), t("started"), t("duration"), t("tokens")].map((word) => element("th", { scope: "col" }, word));
  const table = element("table", { className: "runs" }, element("thead", {}, element("tr", {}, ...head)), list);
  return element("div", {}, askForm(go), filters.node, viewsOf(go), sums, element("div", { className: "wide", tabIndex: 0 }, table), element("div", { className: "buttons" }, more, deletion(filters, () => go(location.pathname + location.search))));
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
function update(list, runs) {
  const known = new Map([...list.children].map((row) => [row.dataset.shows, row]));
  runs.forEach((run, place) => {
    const made = known.get(JSON.stringify(run)) ?? row(run);
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

// deletes what the filters show, if as many match as the person has seen
function deletion(filters, done) {
  return button(t("Delete what matches"), async () => {
    const filter = filters.given();
    const send = async (more) => (await post("/runs/delete", { filter, ...more })).json();
    const { count } = await send({ dry: true });
    if (!count) throw new Error(t("No runs."));
    if (!confirm(`${t("Delete so many runs, with all that is of them")}: ${count}?`)) return;
    await send({ expect: count });
    done();
  });
}

const VIEWS = "crew.views";

// filters by a name, in this browser
function viewsOf(go) {
  const known = JSON.parse(localStorage.getItem(VIEWS) ?? "{}");
  const keep = () => localStorage.setItem(VIEWS, JSON.stringify(known));
  const choose = element("select", { ariaLabel: t("saved views") }, element("option", { value: "" }, t("saved views")), ...Object.keys(known).sort().map((name) => element("option", { value: name, selected: known[name] === location.search }, name)));
  choose.onchange = () => choose.value && go(`/runs${known[choose.value]}`);
  const save = button(t("Save this view"), () => {
    const name = prompt(t("A name for this view"))?.trim();
    if (!name) return;
    known[name] = location.search;
    keep();
    go(`/runs${location.search}`);
  });
  const forget = button(t("Forget this view"), () => {
    delete known[choose.value];
    keep();
    go("/runs");
  }, { hidden: !choose.value });
  choose.hidden = !Object.keys(known).length;
  return element("div", { className: "buttons views" }, choose, save, forget);
}

function filtersOf(crew, changed) {
  const option = (value, text) => element("option", { value }, text);
  const status = element("select", { name: "status", ariaLabel: t("status") }, option("", t("all statuses")), ...STATUSES.map((one) => option(one, t(one))));
  const agent = element("select", { name: "agent_id", ariaLabel: t("agent") }, option("", t("all agents")), ...crew.agents.map(({ id, name }) => option(id, name)));
  const source = element("select", { name: "source", ariaLabel: t("started by") }, option("", t("started by anything")), ...SOURCES.map((one) => option(one, t(one))));
  const text = element("input", { name: "text", type: "search", maxLength: 200, placeholder: t("Search in questions"), ariaLabel: t("Search in questions") });
  const since = element("input", { name: "since", type: "date", ariaLabel: t("since") });
  const fields = [status, agent, source, text, since];
  const from = new URLSearchParams(location.search);
  for (const field of fields) {
    field.value = from.get(field.name) ?? "";
    // a text says so while it is written, and has nothing new to say when it is left
    field[field === text ? "oninput" : "onchange"] = changed;
  }
  // of an agent or a status that is there no more: all
  for (const field of [status, agent, source]) field.value ||= "";
  const given = () => Object.fromEntries(fields.filter(({ value }) => value).map(({ name, value }) => [name, value]));
  return { node: element("form", { className: "filters", role: "search", onsubmit: () => false }, ...fields), given };
}

// runs of one conversation lead to it
function thread({ conversation_id: of, user_id: user, exchange }) {
  return of ? [element("small", {}, link(conversationPath(of, user), `${t("Conversation")}, ${exchange}.`))] : [];
}

// what nobody asked for now: a schedule, a hook, a copy of another run
function origin({ source, source_name: name }) {
  if (!name) return [];
  return [element("small", {}, `${t(source)} `, source === "fork" ? link(`/runs/${name}`, name.slice(0, 12)) : visible(name))];
}

function row(run) {
  const asked = link(`/runs/${run.run_id}`, visible(run.query.slice(0, 120)));
  const isRunning = run.status === "running";
  // the row has the usage and the time of what has ended
  const took = seconds(isRunning ? Math.max(0, Date.now() - Date.parse(run.started_at)) / 1000 : run.duration_seconds);
  const used = isRunning && !run.usage.total_tokens ? "" : spent(run.usage, run.cost);
  const says = run.status === "paused" ? `${t("waits")}: ${visible(run.asks || run.paused_agent_id)}` : run.status === "completed" ? "" : (run.reason ?? "");
  const made = element(
    "tr",
    {},
    element("td", {}, chip(run.status)),
    element("td", {}, asked, element("small", {}, says), ...thread(run), ...origin(run), element("small", { className: "folded" }, [took, used].filter(Boolean).join(" · "))),
    element("td", {}, run.agent_id ?? ""),
    element("td", {}, clock(run.started_at)),
    element("td", {}, took),
    element("td", {}, used),
  );
  made.dataset.run = run.run_id;
  made.dataset.shows = JSON.stringify(run);
  return made;
}
