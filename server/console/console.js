// The web console: pages with addresses of their own; a client of the public API like any other.

import { every, get, tellTabs } from "./api.js";
import { auditPage } from "./pages/audit.js";
import { automationPage } from "./pages/automation.js";
import { comparePage } from "./pages/compare.js";
import { conversationPage, conversationsPage } from "./pages/conversations.js";
import { costsPage } from "./pages/costs.js";
import { crewPage } from "./pages/crew.js";
import { documentsPage } from "./pages/documents.js";
import { memoryPage } from "./pages/memory.js";
import { inboxPage, keyOf } from "./pages/inbox.js";
import { editPage } from "./pages/edit.js";
import { OPENED } from "./opened.js";
import { clock, element, leftOut, visible } from "./page.js";
import { revisionsPage } from "./pages/revisions.js";
import { runPage } from "./pages/run.js";
import { runsPage } from "./pages/runs.js";
import { searchPage } from "./pages/search.js";
import { toolsPage } from "./pages/tools.js";
import { listenToKeys } from "./keys.js";
import { choose, locale, t } from "./words.js";

const LOOK_MILLIS = 10_000;
const $ = (id) => document.getElementById(id);
let leaving = new AbortController(); // ends what the page before does
let crew = { name: "crew", agents: [] };
let waits = new Set(); // the pauses that wait: of a run, each is another one
let looked = false;
let name = "";
let failed = false; // the page could not be shown
let configured = ""; // what is said of the files

// each with what its address may say; null: the page says itself what it does not know
const PAGES = [
  [/^\/(?:runs)?$/, runsPage, null],
  [/^\/runs\/([A-Za-z0-9_-]+)$/, (context, id) => runPage(id, context), []],
  [/^\/conversations$/, conversationsPage, ["user_id", "q"]],
  [/^\/conversations\/([A-Za-z0-9_-]+)$/, (context, id) => conversationPage(id, context), ["user_id"]],
  [/^\/inbox$/, inboxPage, ["agent_id", "tool", "owner"]],
  [/^\/memory$/, memoryPage, ["user_id", "q", "replaced"]],
  [/^\/documents$/, documentsPage, ["collection", "user_id", "conversation_id", "q"]],
  [/^\/costs$/, costsPage, ["by", "since"]],
  [/^\/search$/, searchPage, ["q"]],
  [/^\/compare$/, comparePage, ["a", "b"]],
  [/^\/automation$/, automationPage, []],
  [/^\/audit$/, auditPage, ["action", "run_id", "name", "since", "until"]],
  [/^\/revisions$/, revisionsPage, ["r"]],
  [/^\/crew$/, crewPage, []],
  [/^\/edit$/, editPage, ["file"]],
  [/^\/tools$/, toolsPage, []],
];

async function show(moved = false) {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const path = location.pathname;
  for (const one of $("nav").querySelectorAll("a")) {
    if (one.pathname === path || (one.pathname === "/" ? path.startsWith("/runs") : path.startsWith(`${one.pathname}/`))) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  const [pattern, page, known] = PAGES.find(([one]) => one.test(path)) ?? [/./, nowhere, null];
  const given = [...new URLSearchParams(location.search)];
  try {
    const node = await page({ signal, go, title, crew, waiting }, ...(path.match(pattern)?.slice(1) ?? []));
    if (signal.aborted) return;
    $("view").replaceChildren(...unknownIn(given, known, node), node);
    // who uses the keyboard goes on in the new page
    if (moved) $("view").focus();
    document.getElementById(location.hash.slice(1))?.scrollIntoView();
    failed = false;
  } catch (error) {
    if (signal.aborted) return;
    failed = true;
    const text = error.status === 404 ? t("This is not there.") : error.message;
    $("view").replaceChildren(element("p", { className: "error", role: "alert" }, text));
  }
}

function nowhere() {
  throw Object.assign(new Error(location.pathname), { status: 404 });
}

// what an old or mistyped address asks for is said, not left out in silence
function unknownIn(given, known, node) {
  if (known === null) return [];
  const isLeftOut = ([name, value]) => {
    const field = node.querySelector(`:is(select, input[type="date"])[name="${CSS.escape(name)}"]`);
    return ![...known, OPENED].includes(name) || (field && field.value !== value);
  };
  return leftOut(given.filter(isLeftOut).map((pair) => pair.join("=")));
}

function go(path) {
  if (isHalfWritten() && !confirm(t("Leave the answer that you have begun?"))) return;
  history.pushState(null, "", path);
  show(true);
}

// whether a person has begun to answer what a run asks, or to change what it would do
const isHalfWritten = () => [...document.querySelectorAll("#view .asking [data-written]")].some(({ type, value }) => type === "checkbox" || value.trim());
window.addEventListener("beforeunload", (event) => isHalfWritten() && event.preventDefault());
let written = ""; // the address of the page on which that was
document.addEventListener("input", ({ target }) => {
  if (!target.closest("#view .asking")) return;
  target.dataset.written = "";
  written = location.href;
});

function title(text) {
  name = text;
  document.title = `${waits.size ? `(${waits.size}) ` : ""}${name} · ${crew.name}`;
}

function notify() {
  try {
    const told = new Notification(t("A run waits for you"), { body: crew.name, tag: "crew-inbox" });
    told.onclick = () => {
      window.focus();
      go("/inbox");
    };
  } catch {
    // phones have notifications only for pages that are installed
  }
}

// what waits for a person: on the page, on its tab, and as a notification when there is a new one
function waiting(keys) {
  const isNew = looked && keys.some((key) => !waits.has(key));
  if (isNew && window.Notification?.permission === "granted" && document.hidden) notify();
  waits = new Set(keys);
  looked = true;
  $("waits").textContent = waits.size ? String(waits.size) : "";
  navigator.setAppBadge?.(waits.size).catch(() => {});
  title(name);
}

// a broken edit of the crew's files changes nothing, and is told on every page
function showConfig({ revision, last_reload: { successful, at, problems } }) {
  const errors = problems
    .filter((one) => one.severity === "error")
    .map((one) => `${one.file}:${one.line}:${one.column}: ${one.message}${one.suggestion ? `; did you mean '${one.suggestion}'?` : ""}`);
  $("config").hidden = successful;
  const said = successful ? [] : [`${t("The files of the crew were not taken")} (`, clock(at), `); ${revision} ${t("goes on")}.\n${visible(errors.join("\n"))}`];
  const state = JSON.stringify([successful, at, revision, errors]);
  // it is an alert: the same is not said again
  if (state !== configured) $("config").replaceChildren(...said);
  configured = state;
}

async function look() {
  crew = await get("");
  $("crew").textContent = crew.name;
  $("conversations").hidden = crew.conversations === null;
  $("memory").hidden = !crew.memory;
  $("documents").hidden = !crew.documents;
  showConfig(crew.config);
  const { runs } = await get("/inbox?limit=100");
  waiting(runs.filter((run) => run.waiting).map(keyOf));
}

// a way to another part of the page is none to another page: nothing is shown anew
$("skip").onclick = (click) => {
  click.preventDefault();
  $("view").focus();
};

document.addEventListener("click", (click) => {
  const target = click.target.closest?.("a[href^='/']:not([download])");
  if (!target || click.metaKey || click.ctrlKey || click.shiftKey) return;
  click.preventDefault();
  go(target.getAttribute("href"));
});
window.onpopstate = () => {
  if (!isHalfWritten() || confirm(t("Leave the answer that you have begun?"))) show(true);
  else history.pushState(null, "", written);
};

// the page stays as it is, with what is typed: a token is given beside it
document.addEventListener("forgotten", ({ detail: isForgotten }) => {
  const again = element("a", { href: location.href, target: "_blank" }, t("Give another one in a new tab"));
  $("forgotten").replaceChildren(`${t("The server does not take this page's token any more.")} `, again);
  $("forgotten").hidden = !isForgotten;
  if (!isForgotten && failed) show();
});

// what the page shows stays, with what is typed; one that could not be shown is asked for again
document.addEventListener("lost", ({ detail: isLost }) => {
  $("lost").hidden = !isLost;
  $("lost").textContent = isLost ? t("The server does not answer. The page shows what it had, and asks again.") : "";
  if (!isLost && failed) show();
});

for (const one of document.querySelectorAll("[data-t]")) one.textContent = t(one.textContent);
$("keys").setAttribute("aria-label", t("Keys and display"));
listenToKeys(go);
$("language").setAttribute("aria-label", t("Language"));
$("language").value = locale;
$("language").onchange = () => choose($("language").value);
await look().then(tellTabs, (error) => {
  $("config").hidden = false;
  $("config").textContent = error.message;
});
every(LOOK_MILLIS, look, new AbortController().signal, { hidden: true });
show();
