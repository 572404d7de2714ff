// The public API, as any other client calls it.

const API = "/api/crew";
const RETRY_MILLIS = 2000;

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

export const get = async (path, options) => (await call(path, options)).json();

export function post(path, body) {
  const headers = body ? { "Content-Type": "application/json" } : {};
  return call(path, { method: "POST", headers, body: body && JSON.stringify(body) });
}

export async function start(query) {
  const answer = await post("/runs", { query, deltas: true });
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
      lost(error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MILLIS));
    }
  }
}

// The events of a run after one, until its segment is over and nothing more comes; a connection that
// is lost is made again. EventSource cannot send a token or go on behind an event, so fetch reads.
export async function* events(id, after, signal, lost) {
  let reader = null;
  for (;;) {
    const next = await persist(async () => {
      if (reader === null) {
        const headers = { "Last-Event-ID": `${id}:${after}` };
        const answer = await call(`/runs/${id}/events?deltas=1`, { signal, headers });
        if (answer.status === 204) return null;
        reader = blocks(answer.body);
      }
      const { value, done } = await reader.next().catch((error) => {
        reader = null;
        throw error;
      });
      if (done) reader = null;
      return value ?? "";
    }, signal, lost);
    if (next === null) return;
    const at = next.match(/^id: .*:(\d+)$/m);
    const data = next.match(/^data: (.*)$/m);
    if (at) after = Number(at[1]);
    if (data) yield JSON.parse(data[1]);
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

// what is done again and again while somebody looks at the page
export function every(millis, act, signal) {
  let timer = 0;
  const step = async () => {
    clearTimeout(timer);
    if (signal.aborted) return;
    // a page that nobody sees asks nothing
    if (!document.hidden) await act().catch(() => {});
    if (!signal.aborted) timer = setTimeout(step, millis);
  };
  document.addEventListener("visibilitychange", step, { signal });
  window.addEventListener("focus", step, { signal });
  timer = setTimeout(step, millis);
}
