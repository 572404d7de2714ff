// Our own client under Node: what its caller asks for on the command line, as JSON.
import { Crew, CrewError } from "../../../server/clients/js/src/client.js";

const [url, what, given = "{}"] = process.argv.slice(2);
const { tickets, slowestSeconds = 0.2, ...options } = JSON.parse(given);
const waits = [];
let made = 0;
const crew = new Crew({ url, slowestSeconds, ...options, ticket: tickets && (() => tickets[Math.min(made++, tickets.length - 1)]), waits: (one) => waits.push(one.why) });

async function all(asking) {
  const events = [];
  for await (const event of asking) events.push(event);
  return events;
}

const acts = {
  // prints each event as it comes
  async follow() {
    for await (const event of crew.ask("slow", { deltas: false })) console.log(JSON.stringify({ type: event.type, seq: event.metadata.seq, run: event.metadata.run_id }));
    return { waits: waits.length };
  },
  async ask() {
    const asking = crew.ask("hi");
    return { events: (await all(asking)).map((one) => one.type), run: await asking.run, made };
  },
  async refused() {
    try {
      await all(crew.ask(""));
    } catch (error) {
      return { isOurs: error instanceof CrewError, ...error, message: error.message };
    }
  },
  async decide() {
    const asked = await all(crew.ask("pay"));
    const pause = asked.find((one) => one.type === "pause").metadata;
    const [call] = pause.calls;
    await crew.decide(pause.run_id, { pause: pause.seq, call: call.call_id, decision: "approve", hash: call.hash });
    const more = await all(crew.follow(pause.run_id, { after: asked.at(-1).metadata.seq }));
    return { more: more.map((one) => one.type), answer: (await crew.run(pause.run_id)).answer };
  },
  async leave() {
    const over = new AbortController();
    const asking = crew.ask("slow", { signal: over.signal });
    const events = [];
    for await (const event of asking) {
      events.push(event.type);
      over.abort();
    }
    const run = await asking.run;
    const status = (await crew.run(run)).status;
    await asking.cancel();
    return { events, status, after: (await crew.run(run)).status };
  },
};

console.log(JSON.stringify(await acts[what]()));
