// Who did what, newest first.

import { get } from "../api.js";
import { button, cards, clock, element, inTimes, link, visible } from "../page.js";
import { named } from "../named.js";
import { t } from "../words.js";

const ACTIONS = ["start", "answer", "cancel", "retry", "fork", "delete", "reload", "edit", "rollback", "budget", "schedule", "test", "revoke", "memory", "export", "erase", "document", "refused", "wrong_token"];
const LIMIT = 200;
// entries of one page in which the times may be out of order
const OVERLAP = 20;

export async function auditPage({ signal, title }) {
  title(t("Audit"));
  const given = new URLSearchParams(location.search);
  const action = element("select", { name: "action", ariaLabel: t("action") }, element("option", { value: "" }, t("all actions")), ...ACTIONS.map((one) => element("option", { value: one }, named("act", one))));
  action.value = ACTIONS.includes(given.get("action")) ? given.get("action") : "";
  const run = element("input", { type: "search", value: given.get("run_id") ?? "", maxLength: 128, placeholder: t("a run"), ariaLabel: t("a run") });
  const who = element("input", { type: "search", value: given.get("name") ?? "", maxLength: 200, placeholder: t("who"), ariaLabel: t("who") });
  const [since, until] = ["since", "until"].map((name) => element("input", { name, type: "date", value: given.get(name) ?? "", ariaLabel: t(name) }));
  const fields = { action, run_id: run, name: who, since, until };
  const list = element("tbody");
  const more = element("div", { className: "buttons" });

  async function fill() {
    const wanted = Object.fromEntries(Object.entries(fields).map(([name, one]) => [name, one.value]).filter(([, value]) => value));
    const parts = new URLSearchParams(wanted).toString();
    history.replaceState(history.state, "", `/audit${parts && `?${parts}`}`);
    const entries = await page(wanted);
    const none = element("tr", {}, element("td", { colSpan: 5 }, t("Nothing is recorded that fits.")));
    list.replaceChildren(...(entries.length ? entries.map(row) : [none]));
    offer(wanted, entries, new Set(entries.map((one) => JSON.stringify(one))));
  }

  const page = async (wanted, until) => (await get(`/audit?${new URLSearchParams({ ...inTimes(wanted), ...(until && { until }), limit: LIMIT })}`, { signal })).entries;

  // those before: also what has the same moment, without what is shown already
  function offer(wanted, entries, known) {
    more.replaceChildren();
    if (entries.length < LIMIT) return;
    more.append(button(t("Older"), async () => {
      // they are in the order in which they were kept, which is not quite that of their times
      const until = new Date(Math.max(...entries.slice(-OVERLAP).map((one) => Date.parse(one.at))) + 1).toISOString();
      const older = await page(wanted, until);
      const others = older.filter((one) => !known.has(JSON.stringify(one)));
      for (const one of others) known.add(JSON.stringify(one));
      list.append(...others.map(row));
      offer(wanted, others.length ? older : [], known);
    }));
  }

  const wrong = (error) => list.replaceChildren(element("tr", {}, element("td", { colSpan: 5, className: "error" }, error.status === 403 ? t("This needs the scope admin.") : error.message)));
  for (const one of Object.values(fields)) one.onchange = () => fill().catch(wrong);
  await fill().catch(wrong);
  const head = [t("time"), t("action"), t("who"), t("run"), t("what")].map((word) => element("th", { scope: "col" }, word));
  const filters = element("form", { className: "filters", role: "search", onsubmit: () => false }, action, who, run, element("label", {}, `${t("since")} `, since), element("label", {}, `${t("until")} `, until));
  return element("div", { className: "audit" }, filters, cards(element("table", {}, element("thead", {}, element("tr", {}, ...head)), list)), more);
}

function row(one) {
  const who = `${one.name || "-"} (${one.address})`;
  const run = one.run_id ? link(`/runs/${one.run_id}`, one.run_id.slice(0, 12)) : "";
  return element("tr", {}, ...[clock(one.at), named("act", one.action), visible(who), run, visible(one.detail)].map((cell) => element("td", {}, cell)));
}
