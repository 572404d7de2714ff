import type { Crew, CrewError } from "./client.js";

export { Crew, CrewError };

export interface CrewEvents {
  "crew-run": CustomEvent<{ run: string; conversation: string | null }>;
  "crew-pause": CustomEvent<{ run: string; seq: number; question?: string }>;
  "crew-done": CustomEvent<{ run: string; answer: string; reason: string }>;
  "crew-error": CustomEvent<{ run: string | null; error: Error }>;
  /** What a tool shows to people; `preventDefault()` where the page draws it itself. */
  "crew-show": CustomEvent<{ run: string; component: string; tool: string; data: unknown }>;
}

/** `<crew-chat url conversation user language theme>` */
export declare class CrewChat extends HTMLElement {
  /** Makes a ticket for the person; without it the cookies of the page go with each request. */
  ticket?: () => string | Promise<string>;
  /** Words in place of those of the language. */
  words?: Record<string, string>;
  /** Sends a question, as the person does. */
  ask(text: string): Promise<void> | undefined;
  addEventListener<K extends keyof CrewEvents>(type: K, listener: (event: CrewEvents[K]) => void): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap {
    "crew-chat": CrewChat;
  }
}
