import type { Running } from "../kinds.ts"
import type { Payload } from "../payloads.ts"

/** An Agent and a Computer in an office of their own. */
export interface Pair {
  /** Sends a call; `done` is called when its answer has come and is the right one. */
  readonly call: (done: () => void) => void
}

/** Told once or more often when a peer is lost or has heard something wrong: what was measured is then void. */
export type Fail = (reason: string) => void

/** Raw bytes that overrun a server: sent on a connection of WebSocket that has been let in. */
export interface FloodScript {
  /** Path and query of the handshake. */
  readonly path: string
  /** What is said first, and the text that must have come before anything else is said. */
  readonly greeting: ReadonlyArray<{ readonly say: string; readonly until: string }>
  /** The message that is then sent without end; nobody answers it. */
  readonly message: string
}

/** How the peers of a benchmark speak with a server. They end when the server does. */
export interface Peers {
  /** Connects the pair of this number, and resolves when both have joined. */
  readonly pair: (place: Running, pair: number, payload: Payload, fail: Fail) => Promise<Pair>
  /** Connects a Computer that joins an office and then says nothing. */
  readonly idle: (place: Running, number: number, fail: Fail) => Promise<void>
  readonly flood: FloodScript
}
