// The public API, as any other client calls it.

const API = "/api/crew";
const RETRY_MILLIS = 2000;
// where nobody sees the page: browsers do not let it look more often
const HIDDEN_MILLIS = 60_000;
// more digits than every number of JavaScript has
const LONG = /\d{16}/;

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export async function call(path, options = {}) {
  const answer = await fetch(API + path, options);
  // the server asks for a token
  if (answer.status === 401) location.reload();
  if (!answer.ok) throw new ApiError(answer.status, (await answer.json()).detail);
  return answer;
}

export const get = async (path, options) => parse(await (await call(path, options)).text());

// JSON whose long numbers stay as they were written: somebody approves them
export const parse = (text) => (LONG.test(text) ? JSON.parse(text, (key, value, context) => (isLong(context?.source) ? JSON.rawJSON?.(context.source) ?? value : value)) : JSON.parse(text));

// whether a number would be another one after it was read
const isLong = (source) => /^-?\d+$/.test(source ?? "") && String(Number(source)) !== source;

export function post(path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  return call(path, { method: "POST", headers, body: body && JSON.stringify(body) });
}

export async function start(query, more = {}) {
  // lists say that it was started here
  const headers = { "Content-Type": "application/json", "X-Crew-Source": "console" };
  const answer = await call("/runs", { method: "POST", headers, body: JSON.stringify({ query, deltas: true, ...more }) });
  return (await answer.json()).run_id;
}

// What is asked again until the server answers; null when nobody wants it any more.
export async function persist(ask, signal, lost) {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (signal.aborted) return null;
      // what is refused is refused again
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
      lost();
      await wait(RETRY_MILLIS, signal);
    }
  }
}

function wait(millis, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, millis);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

// The events of a run after one, until its segment is over and nothing more comes; a connection that
// is lost is made again. EventSource cannot send a token or go on behind an event, so fetch reads.
export async function* events(id, after, signal, lost) {
  for (;;) {
    const headers = { "Last-Event-ID": `${id}:${after}` };
    const answer = await persist(() => call(`/runs/${id}/events?deltas=1`, { signal, headers }), signal, lost).catch((error) => {
      if (error.status !== 400 || after === 0) throw error;
      // the database has lost its newest events: they come again
      return null;
    });
    if (signal.aborted || answer?.status === 204) return;
    if (answer === null) {
      after = 0;
      yield { type: "warning", content: "", metadata: { code: "events_lost", from: 1 } };
      continue;
    }
    let came = false;
    try {
      for await (const block of blocks(answer.body)) {
        // only line feeds end a line here: a text may have other ends of lines in it
        const fields = new Map(block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]));
        if (fields.has("id")) after = Number(fields.get("id").split(":").at(-1));
        if (!fields.has("data")) continue;
        came = true;
        yield parse(fields.get("data"));
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof SyntaxError) throw error;
      came = false;
    }
    // a stream that ends at once is not asked for again at once
    if (!came) {
      lost();
      await wait(RETRY_MILLIS, signal);
    }
  }
}

async function* blocks(body) {
  let rest = "";
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    yield* parts;
  }
}

// What is done again and again while somebody looks at the page; with `hidden`, now and then while
// nobody does too.
export function every(millis, act, signal, { hidden = false } = {}) {
  let timer = 0;
  const step = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    if (!document.hidden || hidden) await act().catch(() => {});
    clearTimeout(timer);
    if (!signal.aborted) timer = setTimeout(step, document.hidden ? HIDDEN_MILLIS : millis);
  };
  document.addEventListener("visibilitychange", step, { signal });
  window.addEventListener("focus", step, { signal });
  timer = setTimeout(step, millis);
}
