import type { ChildProcess } from "node:child_process"
import { once } from "node:events"

/** The state of the Server, after garbage collection. */
export interface ServerState {
  readonly load: {
    readonly connections: number
    readonly sessions: number
    readonly offices: number
    readonly calls: number
  }
  /** The longest tick of the event loop since the last order, in milliseconds. */
  readonly longestTick: number
  /** Bytes of objects and buffers. */
  readonly heap: number
  /** Resident memory of the process in bytes. */
  readonly resident: number
}

/** The measurements of the witness, in milliseconds. */
export interface Measurements {
  readonly calls: number
  readonly failed: ReadonlyArray<string>
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** An order to a child. The child replies with one message. */
export type Order =
  | { readonly _tag: "ServerState"; readonly collect: boolean }
  | { readonly _tag: "Revoke" }
  | { readonly _tag: "Begin" }
  | { readonly _tag: "End" }

/** Sends an order to a child and returns the reply. Orders must not overlap. */
export const order = async (child: ChildProcess, what: Order): Promise<unknown> => {
  const answer = once(child, "message")
  child.send(what)
  const [message] = await answer
  return message
}

/** Runs in a child: sends `ready`, then replies to every order, and exits with the parent. */
export const runChild = (ready: unknown, handle: (what: Order) => unknown): void => {
  const notify = (message: unknown) => void process.send?.(message)
  process.on("message", (what: Order) => void Promise.resolve(handle(what)).then(notify))
  process.on("disconnect", () => process.exit(1))
  notify(ready)
}
