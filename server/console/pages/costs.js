// What calls of models have cost, and how full the pots of budgets are.

import { get } from "../api.js";
import { cards, clock, element, money, visible } from "../page.js";
import { locale, t } from "../words.js";

const KEYS = ["day", "agent,model", "user", "token", "conversation"];
const TIMES = { "24h": "a day", "7d": "a week", "30d": "30 days", "90d": "90 days" };

export async function costsPage({ signal, title }) {
  title(t("Costs"));
  const given = new URLSearchParams(location.search);
  const by = choice("by", t("by"), KEYS.map((key) => [key, key.split(",").map(t).join(", ")]), given.get("by") ?? "day");
  const since = choice("since", t("since"), Object.entries(TIMES).map(([key, words]) => [key, t(words)]), given.get("since") ?? "7d");
  const table = element("div");
  const pots = element("section", { ariaLabel: t("Budgets") });

  async function fill() {
    const query = new URLSearchParams({ by: by.value, since: since.value });
    history.replaceState(null, "", `/costs?${query}`);
    const [costs, { budgets }] = await Promise.all([get(`/costs?${query}`, { signal }), get("/budgets", { signal })]);
    table.replaceChildren(tableOf(costs, by.value.split(",")));
    pots.replaceChildren(...budgets.map(potOf));
  }

  for (const one of [by, since]) one.onchange = () => fill().catch((error) => table.replaceChildren(element("p", { className: "error", role: "alert" }, error.message)));
  await fill();
  return element("div", { className: "costs" }, element("form", { className: "filters", onsubmit: () => false }, by, since), table, pots);
}

function choice(name, label, options, value) {
  const made = element("select", { name, ariaLabel: label }, ...options.map(([key, words]) => element("option", { value: key }, words)));
  if (options.some(([key]) => key === value)) made.value = value;
  return made;
}

const number = (value) => value.toLocaleString(locale);

function tableOf({ rows, total }, keys) {
  if (!rows.length) return element("p", {}, t("No model was called yet."));
  const names = [...keys.map(t), t("calls"), t("tokens in"), t("tokens out"), "USD"];
  const row = (cells, tag = "td") => element("tr", {}, ...cells.map((cell) => element(tag, {}, cell)));
  const amounts = (one) => [number(one.calls), number(one.usage.input), number(one.usage.output), money(one.cost) || "$0"];
  const body = rows.map((one) => row([...keys.map((key) => visible(one[key] || "-")), ...amounts(one)]));
  const sum = row([t("in all"), ...keys.slice(1).map(() => ""), ...amounts(total)]);
  return cards(element("table", {}, element("thead", {}, row(names, "th")), element("tbody", {}, ...body), element("tfoot", {}, sum)));
}

// a pot: each of its limits with a mark, and when there is room again
function potOf(one) {
  const head = element("h2", {}, visible([one.budget, one.pot].filter(Boolean).join(" · ")), " ", element("code", {}, visible(one.source)));
  const bars = Object.entries(one.limit).filter(([, limit]) => limit !== null).map(([unit, limit]) => {
    const used = one.used[unit];
    const text = `${number(used)} / ${number(limit)} ${t(unit)}${one.reserved[unit] ? `, ${t("reserved")} ${number(one.reserved[unit])}` : ""}`;
    return element("p", {}, element("meter", { max: limit, high: 0.8 * limit, value: used, ariaLabel: text }), ` ${text}`);
  });
  const again = one.resets_at ? [element("p", { className: "small" }, `${t("begins again")} `, clock(one.resets_at))] : [];
  return element("div", { className: "card" }, head, ...bars, ...again);
}
