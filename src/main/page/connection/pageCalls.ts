import { signal } from "@preact/signals"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import type { PageCallMessage, PageCallRequest } from "../../../domain/page/PageCommand.ts"
import { callOfficeTool, pageErrorOf } from "./api.ts"

type MessageOf<Tag> = Extract<PageCallMessage, { readonly _tag: Tag }>

/** A call that the page makes, with its last messages. It continues while other views are shown. */
export interface PageToolCall {
  readonly request: PageCallRequest
  readonly abort: AbortController
  readonly started?: MessageOf<"Started">
  readonly status?: CallStatus
  /** Missing while the call runs; with its duration in milliseconds. */
  readonly end?: MessageOf<"Result" | "Failed"> & { readonly took: number }
}

/** Tools whose last call is kept, the latest ones; a running call is always kept. */
const maxCalls = 30

/** The last call of each tool, by a key of the office, the Computer and the tool. */
export const pageCalls = signal<ReadonlyMap<string, PageToolCall>>(new Map())

export const pageCallKey = ({ computer, line, office, tool }: Omit<PageCallRequest, "params" | "timeout">): string =>
  JSON.stringify([line, office, computer, tool])

const setCall = (key: string, call: PageToolCall): void => {
  const others = [...pageCalls.peek()].filter(([other]) => other !== key)
  const ended = others.filter(([, { end }]) => end !== undefined)
  const dropped = new Set(ended.slice(0, Math.max(0, others.length + 1 - maxCalls)).map(([other]) => other))
  pageCalls.value = new Map([...others.filter(([other]) => !dropped.has(other)), [key, call]])
}

/** Calls a tool, instead of the call of the same tool before, which is cancelled. */
export const startPageCall = async (request: PageCallRequest): Promise<void> => {
  const key = pageCallKey(request)
  pageCalls.peek().get(key)?.abort.abort()
  const abort = new AbortController()
  const start = performance.now()
  let call: PageToolCall = { request, abort }
  setCall(key, call)
  const show = (message: PageCallMessage): void => {
    if (message._tag === "Started") call = { ...call, started: message }
    else if (message._tag === "Status") call = { ...call, status: message.status }
    else call = { ...call, end: { ...message, took: performance.now() - start } }
    if (pageCalls.peek().get(key)?.abort === abort) setCall(key, call)
  }
  try {
    for await (const message of callOfficeTool(request, abort.signal)) show(message)
    if (call.end === undefined) throw new Error("The Server ended the reply before the result")
  } catch (failure) {
    const error = abort.signal.aborted ? { code: 0, message: "cancelled" } : pageErrorOf(failure)
    show({ _tag: "Failed", error })
  }
}

/** Cancels and forgets all calls: the operator has signed out. */
export const clearPageCalls = (): void => {
  for (const { abort } of pageCalls.peek().values()) abort.abort()
  pageCalls.value = new Map()
}
