// Which runs are listed: the filters of the list, views of them by name, and the acts on all that match.

import { post } from "../api.js";
import { button, choice, element, inTimes } from "../page.js";
import { t } from "../words.js";

const SOURCES = ["user", "console", "api", "schedule", "hook", "fork"];
const STATUSES = ["running", "paused", "completed", "failed", "cancelled"];
const VIEWS = "crew.views";
// what the address of the list says beside its filters
const BESIDE = new Set(["pages", "columns"]);

/** `changed()` is called with each change; `given()` has what is wanted, as the address keeps it, and `asked()` as the API takes it;
 * `unknown`: what the address says that is no filter, or no value of one. */
export function filtersOf(crew, changed) {
  const from = new URLSearchParams(location.search);
  const field = (name, label, more) => element("input", { name, value: from.get(name) ?? "", ariaLabel: t(label), title: t(label), ...more });
  const text = field("text", "Search in questions", { type: "search", maxLength: 200, placeholder: t("Search in questions") });
  const often = [
    choice("status", "status", "all statuses", STATUSES.map((one) => [one, t(one)])),
    choice("agent_id", "agent", "all agents", crew.agents.map(({ id, name }) => [id, name])),
    choice("source", "started by", "started by anything", SOURCES.map((one) => [one, t(one)])),
    text,
    field("since", "since", { type: "date" }),
  ];
  const seldom = [
    field("until", "until", { type: "date" }),
    choice("tool", "tool", "all tools", crew.tools.map(({ tool }) => [tool, tool])),
    choice("waiting", "waits for", "waits or not", [["words", t("waits for words")], ["decision", t("waits for a decision")]]),
    field("user_id", "user", { maxLength: 256, placeholder: t("user") }),
    field("owner", "owner", { pattern: "[A-Za-z0-9._\\-]{1,64}", placeholder: t("owner") }),
    field("reason", "how it ended", { pattern: "[a-z_]{1,64}", placeholder: t("how it ended") }),
    field("cost_over", "cost over, in USD", { type: "number", min: 0, max: 999999, step: "any", placeholder: t("cost over, in USD") }),
  ];
  const fields = [...often, ...seldom];
  // a text says so while it is written, and has nothing new to say when it is left
  for (const one of fields) one[one === text ? "oninput" : "onchange"] = () => one.reportValidity() && changed();
  const more = element("details", { open: seldom.some(({ value }) => value) }, element("summary", {}, t("More filters")), element("div", { className: "filters" }, ...seldom.map(named)));
  // what an old or mistyped address asks for is said, not left out in silence
  const unknown = [...from].filter(([name, value]) => !BESIDE.has(name) && !fields.some((one) => one.name === name && one.value === value && one.validity.valid));
  const given = () => Object.fromEntries(fields.filter((one) => one.value && one.validity.valid).map(({ name, value }) => [name, value]));
  const asked = () => inTimes(given());
  return { node: element("form", { role: "search", onsubmit: () => false }, element("div", { className: "filters" }, ...often.map(named)), more), given, asked, unknown: unknown.map((pair) => pair.join("=")) };
}

// a date says by itself nothing of what it is
const named = (field) => (field.type === "date" ? element("label", {}, `${field.ariaLabel} `, field) : field);

/** Filters by a name, in this browser. */
export function viewsOf(go) {
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
  return [choose, save, forget];
}

/** Buttons that delete, or end, all that the filters show, if as many match as the person has seen. */
export function actsOf(filters, done) {
  const act = (text, path, ask) =>
    button(t(text), async () => {
      // without a filter that cannot be read more would match than is shown
      if (!filters.node.reportValidity()) return;
      const { cost_over: cost, ...filter } = filters.asked();
      if (cost !== undefined) filter.cost_over = Number(cost);
      const send = async (more) => (await post(path, { filter, ...more })).json();
      const { count } = await send({ dry: true });
      if (!count) throw new Error(t("No runs."));
      if (!confirm(`${t(ask)}: ${count}?`)) return;
      await send({ expect: count });
      done();
    });
  return [
    act("Cancel what matches", "/runs/cancel", "End so many runs"),
    act("Delete what matches", "/runs/delete", "Delete so many runs, with all that is of them"),
  ];
}
