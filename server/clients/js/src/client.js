// A client of a crew's server, for browsers, Node 20 and Deno: it asks, follows, answers. A stream that
// breaks is taken up behind the last event that came; a start is never made twice.

const API = "/api/crew";
const FIRST_MILLIS = 500;
// a server sends a comment more often than this
const SILENT_MILLIS = 60_000;
const TICKET_MILLIS = 30_000;
// how long a server may be busy before a request fails
const BUSY_MILLIS = 60_000;
const BUSY = [429, 503];
// of a proxy that has lost the server: it may have come
const UNKNOWN = [0, 502, 504];
// more digits than every number of JavaScript has
const LONG = /\d{16}/;

export class CrewError extends Error {
  constructor(detail, { status = 0, code = "", requestId = "", retryAfter = 0, document = {} } = {}) {
    super(detail);
    this.name = "CrewError";
    // 0: no answer came
    Object.assign(this, { status, code, detail, requestId, document });
    Object.defineProperty(this, "retryMillis", { value: retryAfter * 1000 });
  }
}

export class Crew {
  #url;
  #token;
  #makeTicket;
  #ticket;
  #waiting;
  #fetch;

  // `ticket`: makes one, at the first request and where the one before has ended; `patienceSeconds`:
  // how long a lost connection is tried again, each `slowestSeconds` at the latest; `waits`: is called
  // before each wait
  constructor({ url = "", token, ticket, patienceSeconds = 600, slowestSeconds = 30, waits = () => {}, fetch: fetching } = {}) {
    this.#url = url.replace(/\/+$/, "");
    this.#token = token;
    this.#makeTicket = ticket;
    this.#waiting = { limit: patienceSeconds * 1000, slowest: slowestSeconds * 1000, waits };
    this.#fetch = fetching ?? ((...given) => fetch(...given));
  }

  // A run, begun at once: to iterate over its events until it ends or waits for a person.
  ask(query, options = {}) {
    return new Asking(this, query, options);
  }

  // The events of a run behind one, until it ends or waits for a person, or `signal` is aborted.
  async *follow(run, { after = 0, deltas = true, signal } = {}) {
    const path = `/runs/${encodeURIComponent(run)}/events${deltas ? "?deltas=1" : ""}`;
    const waiting = new Backoff(this.#waiting, signal);
    for (let ended = false; !ended; ) {
      let why = "the stream has ended before the run";
      try {
        const headers = after ? { "Last-Event-ID": `${run}:${after}` } : {};
        const answer = await this.#once("GET", path, { headers, signal });
        if (answer.status === 204) return;
        for await (const { id, data } of frames(answer.body, signal)) {
          waiting.beginAgain();
          if (id !== undefined) after = Number(id.split(":").at(-1));
          if (signal?.aborted) return;
          if (data === undefined) continue;
          const event = parse(data);
          ended = event.type === "done" || event.type === "error";
          yield event;
        }
        if (ended) return;
      } catch (error) {
        if (signal?.aborted) return;
        if (error.status === 400 && after > 0) {
          // the database has lost its newest events: they come again
          after = 0;
          yield { type: "warning", agent: "system", content: "the newest events were lost", metadata: { code: "events_lost", from: 1 } };
          continue;
        }
        if (!passes(error)) throw error;
        why = error;
      }
      if (!(await waiting.wait(why))) return;
    }
  }

  // Answers a paused run in words.
  async answer(run, { text, pause, ...more }) {
    return this.#resume(run, { query: text, pause, ...more });
  }

  // Decides on the calls that a pause asks about: one, or each of `decisions`.
  async decide(run, { pause, decisions, call, agent, ...decision }) {
    const one = { call_id: call, agent_id: agent, ...decision };
    return this.#resume(run, { pause, decisions: decisions ?? [one] });
  }

  async cancel(run) {
    await this.send("POST", `/runs/${encodeURIComponent(run)}/cancel`);
  }

  // Goes on with a failed run at the step that failed.
  async retry(run) {
    await this.send("POST", `/runs/${encodeURIComponent(run)}/retry`);
  }

  // A run with its result, and what it asks.
  async run(run, { signal } = {}) {
    return this.send("GET", `/runs/${encodeURIComponent(run)}`, { signal });
  }

  // A conversation with its exchanges.
  async conversation(id, { user, after, limit } = {}) {
    const given = Object.entries({ user_id: user, after, limit }).filter(([, one]) => one !== undefined);
    return this.send("GET", `/conversations/${encodeURIComponent(id)}?${new URLSearchParams(given)}`);
  }

  // The JSON that an address below /api/crew answers; null where it answers nothing. A request with a
  // key acts once, so it is sent again where its answer was lost.
  async send(method, path, { body, key, headers = {}, signal } = {}) {
    const given = { ...headers };
    if (body !== undefined) given["Content-Type"] = "application/json";
    if (key !== undefined) given["Idempotency-Key"] = key;
    const repeats = key !== undefined || method === "GET";
    const waiting = new Backoff(repeats ? this.#waiting : { ...this.#waiting, limit: BUSY_MILLIS }, signal);
    for (;;) {
      try {
        const answer = await this.#once(method, path, { headers: given, body: body && JSON.stringify(body), signal });
        const text = await answer.text();
        return text ? parse(text) : null;
      } catch (error) {
        const isLost = !(error instanceof CrewError) || UNKNOWN.includes(error.status);
        if (signal?.aborted || !passes(error) || (isLost && !repeats)) throw asError(error);
        if (!(await waiting.wait(error))) throw asError(error);
      }
    }
  }

  async #resume(run, body) {
    return this.send("POST", `/runs/${encodeURIComponent(run)}/resume`, { body, key: newKey() });
  }

  // One request; with a new ticket once, where the one before is over.
  async #once(method, path, { headers, body, signal }) {
    for (let isAgain = false; ; isAgain = true) {
      const secret = this.#token ?? (this.#makeTicket && (await this.#shown(isAgain)));
      const given = secret ? { ...headers, Authorization: `Bearer ${secret}` } : headers;
      const options = { method, headers: given, body, signal, redirect: "error", cache: "no-store" };
      const answer = await this.#fetch(this.#url + API + path, options);
      if (answer.ok) return answer;
      if (answer.status === 401 && this.#makeTicket && !isAgain) continue;
      throw await errorOf(answer);
    }
  }

  async #shown(isAgain) {
    if (isAgain) this.#ticket = undefined;
    // requests that come meanwhile wait for the same one
    this.#ticket ??= within(TICKET_MILLIS, Promise.resolve().then(this.#makeTicket)).then(
      (ticket) => {
        if (typeof ticket === "string" && ticket.trim()) return ticket.trim();
        throw new CrewError("ticket() gave none", { code: "ticket" });
      },
    );
    try {
      return await this.#ticket;
    } catch (error) {
      this.#ticket = undefined;
      throw error instanceof CrewError ? error : new CrewError(`ticket() failed: ${error.message}`, { code: "ticket" });
    }
  }
}

// A run that was begun: an iterable of its events.
class Asking {
  #crew;
  #options;

  constructor(crew, query, { signal, deltas = true, key = newKey(), headers, ...more }) {
    this.#crew = crew;
    this.#options = { signal, deltas };
    const { conversation: conversation_id, user: user_id, agent: resume_agent_id, maxUsd: max_usd, ...rest } = more;
    const body = { query, deltas, conversation_id, user_id, resume_agent_id, max_usd, ...rest };
    // its id
    this.run = crew.send("POST", "/runs", { body, key, headers, signal }).then((begun) => begun.run_id);
    // who iterates gets the error
    this.run.catch(() => {});
  }

  async *[Symbol.asyncIterator]() {
    let run;
    try {
      run = await this.run;
    } catch (error) {
      if (this.#options.signal?.aborted) return;
      throw error;
    }
    yield* this.#crew.follow(run, this.#options);
  }

  // Ends the run; `signal` only stops listening.
  async cancel() {
    await this.#crew.cancel(await this.run);
  }
}

class Backoff {
  constructor(rule, signal) {
    Object.assign(this, rule, { signal });
    this.beginAgain();
  }

  beginAgain() {
    this.tries = 0;
    this.waited = 0;
  }

  // whether it has waited; an error is thrown where it was enough
  async wait(why) {
    const millis = Math.max(Math.min(FIRST_MILLIS * 2 ** this.tries, this.slowest), why.retryMillis ?? 0);
    if (this.waited + millis > this.limit) throw asError(why);
    this.tries += 1;
    this.waited += millis;
    this.waits({ why: why.message ?? why, seconds: millis / 1000 });
    await new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.signal?.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, millis);
      this.signal?.addEventListener("abort", done);
    });
    return !this.signal?.aborted;
  }
}

// JSON with long numbers as they were written: a person approves them
export const parse = (text) => (LONG.test(text) ? JSON.parse(text, (key, value, context) => (isLong(context?.source) ? JSON.rawJSON?.(context.source) ?? value : value)) : JSON.parse(text));

// whether a number would be another one after it was read
const isLong = (source) => /^-?\d+$/.test(source ?? "") && String(Number(source)) !== source;

// The frames of a stream; ends with an error where nothing comes for long.
async function* frames(body, signal) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const stop = () => reader.cancel().catch(() => {});
  signal?.addEventListener("abort", stop, { once: true });
  try {
    for (let rest = ""; ; ) {
      const { value, done } = await within(SILENT_MILLIS, reader.read());
      if (done) return;
      // only line feeds end a line here: a text may have other ends of lines in it
      const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const fields = block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
        yield Object.fromEntries(fields);
      }
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    stop();
  }
}

function within(millis, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new CrewError(`nothing came for ${millis / 1000} s`)), millis);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

async function errorOf(answer) {
  const text = await answer.text().catch(() => "");
  let document = {};
  try {
    document = JSON.parse(text);
  } catch {
    // a proxy may have answered
  }
  const requestId = answer.headers.get("X-Request-ID") ?? "";
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  const detail = document.detail ?? (text.slice(0, 500) || answer.statusText || `status ${answer.status}`);
  return new CrewError(detail, { status: answer.status, code: document.code ?? "", requestId, retryAfter, document });
}

// whether the same request may succeed later: what is refused is refused again
const passes = (error) =>
  error instanceof CrewError ? error.code !== "ticket" && [...BUSY, ...UNKNOWN].includes(error.status) : error instanceof TypeError;

const asError = (error) => (error instanceof CrewError || error.name === "AbortError" ? error : new CrewError(`no answer: ${error.message ?? error}`));

// of a request, or of a conversation
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
