import type { components } from "./api.js";

type Schemas = components["schemas"];

/** What a run says, by its `type`. */
export type RunEvent = Schemas["RunEvent"];
export type Run = Schemas["RunAnswer"];
export type Conversation = Schemas["ConversationAnswer"];
export type Decision = Schemas["CallDecisionBody"];
export type { components, paths } from "./api.js";

/** What was refused, or did not come: `status` is 0 where no answer came. */
export declare class CrewError extends Error {
  constructor(detail: string, facts?: { status?: number; code?: string; requestId?: string; document?: object });
  readonly status: number;
  /** Of the kind of problem, where it has one. */
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  /** The problem document (RFC 9457). */
  readonly document: Partial<Schemas["ProblemAnswer"]>;
}

export interface CrewOptions {
  /** Of the server; that of the page unless given. */
  url?: string;
  /** For servers; a page shows a ticket. */
  token?: string;
  /** Makes a ticket, at the first request and where the one before has ended. */
  ticket?: () => string | Promise<string>;
  /** How long a lost connection is tried again: 600. */
  patienceSeconds?: number;
  /** Between two tries at most: 30. */
  slowestSeconds?: number;
  /** Is called before each wait. */
  waits?: (wait: { why: string; seconds: number }) => void;
  fetch?: typeof globalThis.fetch;
}

export interface AskOptions {
  conversation?: string;
  user?: string;
  /** The agent that starts, where the crew lets clients choose it. */
  agent?: string;
  history?: Schemas["HistoryMessageBody"][];
  attachments?: Schemas["AttachmentBody"][];
  model?: string;
  priority?: number;
  maxUsd?: number;
  /** Texts as they are written: true. */
  deltas?: boolean;
  /** A start with the same key is made once. */
  key?: string;
  headers?: Record<string, string>;
  /** Stops listening; the run goes on. */
  signal?: AbortSignal;
}

/** A run that was begun: iterate over its events until it ends or waits for a person. */
export interface Asking extends AsyncIterable<RunEvent> {
  /** Its id. */
  readonly run: Promise<string>;
  /** Ends the run. */
  cancel(): Promise<void>;
}

export interface OneDecision extends Omit<Decision, "call_id" | "agent_id"> {
  pause?: number;
  call: string;
  agent?: string;
  decisions?: undefined;
}

export interface SendOptions {
  body?: unknown;
  /** A request with a key acts once, so it is sent again where its answer was lost. */
  key?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export declare class Crew {
  constructor(options?: CrewOptions);
  ask(query: string, options?: AskOptions): Asking;
  /** The events of a run behind one, until it ends or waits, or `signal` is aborted. */
  follow(run: string, options?: { after?: number; deltas?: boolean; signal?: AbortSignal }): AsyncGenerator<RunEvent, void>;
  answer(run: string, answer: { text: string; pause?: number; attachments?: Schemas["AttachmentBody"][] }): Promise<unknown>;
  decide(run: string, decision: OneDecision | { pause?: number; decisions: Decision[] }): Promise<unknown>;
  cancel(run: string): Promise<void>;
  retry(run: string): Promise<void>;
  run(run: string, options?: { signal?: AbortSignal }): Promise<Run>;
  conversation(id: string, options?: { user?: string; after?: number; limit?: number }): Promise<Conversation>;
  /** The JSON that an address below /api/crew answers; null where it answers nothing. */
  send(method: string, path: string, options?: SendOptions): Promise<any>;
}

/** JSON with long numbers as they were written, where the engine can keep them. */
export declare function parse(text: string): any;
