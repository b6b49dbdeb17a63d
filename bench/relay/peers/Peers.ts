import type { Running } from "../kinds.ts"
import type { Payload } from "../payloads.ts"

/** An Agent and a Computer in a separate office. */
export interface Pair {
  /** Sends a call. `done` runs when the correct reply arrives. */
  readonly call: (done: () => void) => void
}

/** A Computer outside of any office. */
export interface Newcomer {
  readonly join: (office: string, name: string, onNotification: () => void) => Promise<void>
  /** Announces a change of its tools, of which all others in its office are notified. */
  readonly announce: (name: string) => void
  readonly close: () => void
}

/** Called when a peer is lost or receives a wrong message: the measurement is void. */
export type Fail = (reason: string) => void

/** Raw bytes for a flood on an admitted WebSocket. */
export interface FloodScript {
  /** Path and query of the handshake. */
  readonly path: string
  /** The first message, and the text to receive before the next one. */
  readonly greeting: ReadonlyArray<{ readonly send: string; readonly until: string }>
  /** The repeated message; it gets no reply. */
  readonly message: string
}

/** The peers of a benchmark. They end with the server. */
export interface Peers {
  /** Connects the pair of this number and resolves when both have joined. */
  readonly pair: (place: Running, pair: number, payload: Payload, fail: Fail) => Promise<Pair>
  /** Connects a Computer that joins an office and stays idle. */
  readonly idle: (place: Running, number: number, fail: Fail) => Promise<void>
  /** Connects a Computer. Missing where a server has no offices. */
  readonly connect?: (place: Running, fail: Fail) => Promise<Newcomer>
  readonly flood: FloodScript
}
