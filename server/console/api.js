// The public API, as any other client calls it.

import { Crew, CrewError, parse } from "./client.js";
import { t } from "./words.js";

export { parse };

const API = "/api/crew";
const RETRY_SECONDS = 2;
// where nobody sees the page: browsers do not let it look more often
const HIDDEN_MILLIS = 60_000;

// whether the last request had no answer; a change of that is an event of the document, `lost`
let isLost = false;
function say(lost) {
  if (lost === isLost) return;
  isLost = lost;
  document.dispatchEvent(new CustomEvent("lost", { detail: lost }));
}

// the server has forgotten who this is, until another tab has given a token; a change of that is an event of the document, `forgotten`
let isForgotten = false;
function know(forgotten) {
  if (forgotten === isForgotten) return;
  isForgotten = forgotten;
  document.dispatchEvent(new CustomEvent("forgotten", { detail: forgotten }));
}

// each look with a token that has ended is a wrong token: none is made but where a person comes back to
// the page, or another tab has given a token
const tabs = new BroadcastChannel("crew-token");
const lookAgain = () => isForgotten && fetched(API).catch(() => {});
tabs.onmessage = lookAgain;
window.addEventListener("focus", lookAgain);

// Tells other tabs that the server knows who this is.
export const tellTabs = () => tabs.postMessage("known");

async function fetched(...given) {
  const answer = await fetch(...given).catch((error) => {
    if (error instanceof TypeError) say(true);
    throw error;
  });
  say(false);
  if (answer.status === 401) know(true);
  else if (answer.ok) know(false);
  return answer;
}

// browsers say in words of their own that no answer came
function unanswered(error) {
  throw error instanceof TypeError ? new CrewError(t("The server does not answer.")) : error;
}

export async function call(path, options = {}) {
  const answer = await fetched(API + path, options).catch(unanswered);
  if (answer.ok) return answer;
  // what stands before a server answers in its own form
  const problem = await answer.json().catch(() => ({}));
  throw new CrewError(problem.detail ?? `${t("The server does not answer.")} (HTTP ${answer.status})`, { status: answer.status, code: problem.code });
}

// what asks until the server answers, for as long as the page is looked at; `lost` is called meanwhile
export const patient = (lost) => new Crew({ patienceSeconds: Infinity, slowestSeconds: RETRY_SECONDS, waits: lost, fetch: fetched });

export const get = async (path, options) => parse(await (await call(path, options)).text());

export function post(path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  return call(path, { method: "POST", headers, body: body && JSON.stringify(body) });
}

// a start of which no answer came: it may have begun, and the same again is that one
let unsure = { body: "", key: "" };

export async function start(query, more = {}) {
  const body = JSON.stringify({ query, deltas: true, ...more });
  if (unsure.body !== body) unsure = { body, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
  // lists say that it was started here
  const headers = { "Content-Type": "application/json", "X-Crew-Source": "console", "Idempotency-Key": unsure.key };
  const answer = await call("/runs", { method: "POST", headers, body });
  unsure = { body: "", key: "" };
  return (await answer.json()).run_id;
}

// What is done again and again while somebody looks at the page; with `hidden`, now and then while
// nobody does too.
export function every(millis, act, signal, { hidden = false } = {}) {
  let timer = 0;
  const step = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    if (!isForgotten && (!document.hidden || hidden)) await act().catch(() => {});
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(step, document.hidden ? HIDDEN_MILLIS : millis);
  };
  document.addEventListener("visibilitychange", step, { signal });
  window.addEventListener("focus", step, { signal });
  timer = setTimeout(step, millis);
}
