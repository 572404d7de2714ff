// Keys of the console, and how times are shown: `?` lists them; single keys can be turned off (WCAG 2.1.4).

import { button, element } from "./page.js";
import { isUtc, showUtc, t } from "./words.js";

const OFF = "crew.keys.off";
const GO = { r: ["/", "Runs"], i: ["/inbox", "Inbox"], c: ["/crew", "Crew"], s: ["/automation", "Automation"], t: ["/tools", "Tools"], k: ["/costs", "Costs"] };
// for the second key
const WAIT_MILLIS = 1500;

export function listenToKeys(go) {
  const dialog = dialogOf();
  document.body.append(dialog);
  document.getElementById("keys").onclick = () => dialog.showModal();
  let began = 0;
  document.addEventListener("keydown", (key) => {
    if (key.ctrlKey || key.metaKey || key.altKey || key.isComposing || isWriting(key) || dialog.open || localStorage.getItem(OFF)) return;
    const isSecond = Date.now() - began < WAIT_MILLIS;
    began = 0;
    if (isSecond && key.key in GO) go(GO[key.key][0]);
    else if (key.key === "g") began = Date.now();
    else if (key.key === "?") dialog.showModal();
    else if (key.key === "/") focusSearch(go);
    else if (key.key === "j" || key.key === "k") move(key.key === "j" ? 1 : -1);
    else return;
    key.preventDefault();
  });
}

// where a key is a letter; the editor's own tree is looked into
function isWriting(key) {
  const [target] = key.composedPath();
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

// the search of the page, or that of everything
function focusSearch(go) {
  const field = document.querySelector("#view input[type=search]");
  if (field) field.focus();
  else go("/search");
}

// from the first link of a row to that of the next one
function move(step) {
  const links = [...document.querySelectorAll("#view tbody tr, #view .inbox > li, #view .items > li, #view .hits > li")].map((row) => row.querySelector("a, button")).filter(Boolean);
  if (!links.length) return;
  const now = links.findIndex((one) => one.closest("tr, li") === document.activeElement?.closest("tr, li"));
  links[Math.min(links.length - 1, Math.max(0, now + step))].focus();
}

function dialogOf() {
  const row = (keys, words) => element("tr", {}, element("th", { scope: "row" }, ...keys.flatMap((one, place) => [place ? " " : "", element("kbd", {}, one)])), element("td", {}, t(words)));
  const rows = [
    row(["/"], "Search"),
    row(["j"], "Next row"),
    row(["k"], "Row before"),
    row(["Enter"], "Open"),
    ...Object.entries(GO).map(([key, [, name]]) => row(["g", key], name)),
    row(["?"], "Keys and display"),
  ];
  const single = box("Single keys", !localStorage.getItem(OFF), (on) => (on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1")));
  const utc = box("Times in UTC", isUtc, (on) => {
    showUtc(on);
    location.reload();
  });
  const close = button(t("Close"), () => dialog.close(), { className: "main" });
  const dialog = element("dialog", { className: "keys", ariaLabel: t("Keys and display") }, element("table", {}, element("tbody", {}, ...rows)), single, utc, element("div", { className: "buttons" }, close));
  return dialog;
}

function box(words, checked, change) {
  const input = element("input", { type: "checkbox", checked });
  input.onchange = () => change(input.checked);
  return element("p", {}, element("label", {}, input, ` ${t(words)}`));
}
