// The crew's tools: what each may do, how it was used lately, and which of its calls need no person any more.

import { call, get } from "../api.js";
import { button, cards, clock, element, seconds, visible } from "../page.js";
import { t } from "../words.js";

export async function toolsPage({ signal, title }) {
  title(t("Tools"));
  const [found, { grants }] = await Promise.all([get("/tools?usage=1", { signal }), get("/grants", { signal }).catch(() => ({ grants: [] }))]);
  if (!found.tools.length) return element("p", {}, t("This crew has no tools: tools.yaml names some."));
  const since = element("p", { className: "small" }, `${t("Calls since")} `, clock(found.usage_since), found.usage_partial ? ` (${t("not all were counted")})` : "");
  const head = ["tool", "kind", "effect", "asks a person", "agents", "calls", "failed", "95 %"].map((word) => element("th", { scope: "col" }, t(word)));
  const rows = found.tools.map(row);
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  return element("div", { className: "tools-page" }, since, cards(table), ...reach(found.tools), ...approved(grants));
}

function row(one) {
  const { usage } = one;
  const asks = one.requires_approval ? t("yes") : one.approval ? t("sometimes") : t("no");
  const cells = [one.kind, t(one.effect), asks, one.agents.join(", "), usage?.calls ?? 0, usage?.failed ?? 0, usage ? seconds(usage.p95_seconds) : "–"];
  const name = element("th", { scope: "row" }, element("a", { href: `#${one.tool}` }, visible(one.tool)));
  return element("tr", { className: usage?.failed ? "warning" : "" }, name, ...cells.map((text) => element("td", {}, visible(String(text)))));
}

// what each may touch
function reach(tools) {
  const cards = tools.map((one) => {
    const may = ["reaches", "runs", "reads", "writes"].filter((key) => one[key].length).map((key) => [t(key === "runs" ? "runs a program" : key), one[key].join(", ")]);
    for (const key of ["sandbox", "pin"]) if (one[key]) may.push([t(key), one[key]]);
    const lines = may.map(([key, value]) => element("tr", {}, element("th", { scope: "row" }, key), element("td", {}, visible(value))));
    return element("section", { className: "card", id: one.tool, ariaLabel: one.tool }, element("h3", {}, visible(one.tool)), element("p", {}, visible(one.description)), ...(lines.length ? [element("table", {}, element("tbody", {}, ...lines))] : []));
  });
  return [element("h2", {}, t("What each may do")), ...cards];
}

// calls that a person has approved for all runs; each can be ended
function approved(grants) {
  if (!grants.length) return [];
  const items = grants.map((one) => {
    const item = element("li", {}, `${visible(one.tool)} `, element("code", {}, visible(JSON.stringify(one.arguments ?? one.patterns ?? {}))), ` ${visible(one.by ?? "")} `);
    item.append(button(t("Withdraw"), async () => {
      await call(`/grants/${encodeURIComponent(one.id)}`, { method: "DELETE" });
      item.remove();
    }, { ariaLabel: `${t("Withdraw")}: ${one.tool}` }));
    return item;
  });
  return [element("h2", {}, t("Approved for all runs")), element("ul", { className: "items" }, ...items)];
}
