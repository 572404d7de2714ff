// What the modules of the console share: elements, text that hides nothing, times and numbers.

import { element, visible } from "./shared/elements.js";
import { isUtc, locale, t } from "./words.js";

export { element, json, sendOnEnter, shape, visible } from "./shared/elements.js";

// until the next frame, or soon where the page is not shown and there is none
export const frame = () =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, 200);
    requestAnimationFrame(() => {
      clearTimeout(timer);
      resolve();
    });
  });

// a button that tells what went wrong beside itself
export function button(text, act, properties = {}) {
  const made = element("button", { type: "button", ...properties }, text);
  const wrong = element("span", { className: "error", role: "alert" });
  made.onclick = async () => {
    made.disabled = true;
    wrong.remove();
    try {
      await act();
    } catch (error) {
      wrong.textContent = ` ${error.message}`;
      made.after(wrong);
    } finally {
      made.disabled = false;
    }
  };
  return made;
}

/** A choice of a filter, as the address has it; `options`: values and their texts. */
export function choice(name, label, all, options) {
  const made = element("select", { name, ariaLabel: t(label) }, ...[["", t(all)], ...options].map(([value, text]) => element("option", { value }, text)));
  made.value = new URLSearchParams(location.search).get(name) ?? "";
  // of an agent, a tool or a status that is there no more: all
  made.value ||= "";
  return made;
}

// what of an address is not known on its page
export function leftOut(parts) {
  const text = `${t("The address says what is not known here, and is left out")}: ${visible(parts.join(", ").slice(0, 300))}`;
  return parts.length ? [element("p", { className: "warning", role: "status" }, text)] : [];
}

export const link = (href, ...children) => element("a", { href }, ...children);

export const chip = (status) => element("span", { className: `chip ${status}` }, t(status));

export function seconds(value) {
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.round(value)} s`;
  const minutes = Math.floor(value / 60);
  if (minutes < 60) return `${minutes} min ${Math.round(value % 60)} s`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} d`;
}

export const age = (time) => seconds(Math.max(0, (Date.now() - new Date(time)) / 1000));

const zone = isUtc ? { timeZone: "UTC" } : {};

// "yesterday" would be a day of the calendar: these are whole units that have passed
const RELATIVE = new Intl.RelativeTimeFormat(locale, { numeric: "always" });
const NOW = new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(0, "second");
const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]];
const RENEW_MILLIS = 20_000;

/** When a day of a date field begins, for who looks; `days`: of one so many days behind it. */
export function beginningOf(value, days = 0) {
  const [year, month, day] = value.split("-").map(Number);
  const parts = [year, month - 1, day + days];
  return (isUtc ? new Date(Date.UTC(...parts)) : new Date(...parts)).toISOString();
}

/** Filters with dates as the API takes them: `until` is the whole of its day. */
export const inTimes = ({ since, until, ...others }) => ({ ...others, ...(since && { since: beginningOf(since) }), ...(until && { until: beginningOf(until, 1) }) });

// how far a time is from now, in words
function relative(time) {
  const apart = (new Date(time) - Date.now()) / 1000;
  const [unit, length] = UNITS.find(([, least]) => Math.abs(apart) >= least) ?? UNITS.at(-1);
  const whole = Math.trunc(apart / length);
  return whole === 0 ? NOW : RELATIVE.format(whole, unit);
}

// the exact time, with its zone, stands in the title; who has chosen UTC reads that
export function clock(time) {
  const at = new Date(time);
  const exact = at.toLocaleString(locale, { dateStyle: "full", timeStyle: "long", ...zone });
  if (!isUtc) return element("time", { dateTime: time, title: exact, className: "relative" }, relative(time));
  return element("time", { dateTime: time, title: exact }, `${at.toLocaleString(locale, { dateStyle: "short", timeStyle: "medium", ...zone })} UTC`);
}

setInterval(() => {
  for (const one of document.querySelectorAll("time.relative")) one.textContent = relative(one.dateTime);
}, RENEW_MILLIS);

/** A table that is a list of cards where the page is narrow: each cell says of which column it is. */
export function cards(table) {
  const label = () => {
    const names = [...table.tHead.rows[0].cells].map((one) => one.dataset.label ?? one.textContent);
    for (const row of table.querySelectorAll(":scope > :is(tbody, tfoot) > tr")) {
      for (const cell of row.cells) if (cell.colSpan === 1) cell.dataset.label = names[cell.cellIndex] ?? "";
    }
  };
  label();
  for (const body of table.tBodies) new MutationObserver(label).observe(body, { childList: true });
  table.classList.add("cards");
  return element("div", { className: "wide", tabIndex: 0 }, table);
}

// what calls have cost: a lower bound where a price is not known; nothing where they cost nothing
export function money({ usd, unpriced }) {
  if (!usd) return unpriced ? "?" : "";
  const amount = usd >= 0.1 ? usd.toFixed(2) : usd.toFixed(6).replace(/0+$/, "");
  return `${unpriced ? "≥ " : ""}$${amount}`;
}

export function spent(usage, cost = { usd: usage.cost_usd, unpriced: 0 }) {
  const tokens = `${usage.total_tokens.toLocaleString(locale)} ${t("tokens")}`;
  return [tokens, money(cost)].filter(Boolean).join(" · ");
}
