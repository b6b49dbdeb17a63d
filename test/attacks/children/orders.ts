import type { ChildProcess } from "node:child_process"
import { once } from "node:events"

/** What a Server under attack holds, after everything that can be collected has been. */
export interface Holdings {
  readonly load: {
    readonly connections: number
    readonly sessions: number
    readonly offices: number
    readonly calls: number
  }
  /** The longest turn of its event loop since the last time, in milliseconds. */
  readonly longestTurn: number
  /** Bytes of objects and of buffers. */
  readonly heap: number
}

/** What the witness saw, in milliseconds. */
export interface Testimony {
  readonly calls: number
  readonly failed: ReadonlyArray<string>
  readonly p50: number
  readonly p99: number
  readonly max: number
}

/** What the children can be told to do. Each order is answered with one message. */
export type Order =
  | { readonly _tag: "Holdings"; readonly collect: boolean }
  | { readonly _tag: "Revoke" }
  | { readonly _tag: "Begin" }
  | { readonly _tag: "End" }

/** Gives an order to a child, and its answer. Nobody gives a second one before that. */
export const order = async (child: ChildProcess, what: Order): Promise<unknown> => {
  const answer = once(child, "message")
  child.send(what)
  const [message] = await answer
  return message
}

/** Obeys in a child: says `ready`, then answers every order, and ends with its parent. */
export const obey = (ready: unknown, handle: (what: Order) => unknown): void => {
  const tell = (message: unknown) => void process.send?.(message)
  process.on("message", (what: Order) => void Promise.resolve(handle(what)).then(tell))
  process.on("disconnect", () => process.exit(1))
  tell(ready)
}
