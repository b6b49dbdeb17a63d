import { signal } from "@preact/signals"
import { describeStatus } from "../../../domain/page/calls/callPhase.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { PageCallMessage, PageCallRequest, PageError } from "../../../domain/page/PageCommand.ts"
import { callOfficeTool, pageErrorOf } from "./api.ts"

/** The state of a call that the page makes. */
type PageCallState =
  | {
      readonly _tag: "Running"
      readonly as: string
      readonly status: string
      readonly progress?: number | undefined
      /** The approval that the call waits for. */
      readonly approvalId?: string | undefined
    }
  | { readonly _tag: "Ended"; readonly result: JsonObject; readonly took: number }
  | { readonly _tag: "Failed"; readonly error: PageError; readonly took: number }

/** A call that the page makes. It continues while other views are shown. */
export interface PageToolCall {
  readonly request: PageCallRequest
  readonly state: PageCallState
  readonly abort: AbortController
}

/** Tools whose last call is kept, the latest ones; a running call is always kept. */
const maxCalls = 30

/** The last call of each tool, by a key of the office, the Computer and the tool. */
export const pageCalls = signal<ReadonlyMap<string, PageToolCall>>(new Map())

export const pageCallKey = ({ computer, line, office, tool }: Omit<PageCallRequest, "params" | "timeout">): string =>
  JSON.stringify([line, office, computer, tool])

const describeCaller = (started: Extract<PageCallMessage, { readonly _tag: "Started" }>): string =>
  started.as === "agent"
    ? `The call runs as the Agent ${started.name} of the office.`
    : `The call runs beside the Agent of the office, as ${started.name}.`

const applyCallMessage = (call: PageCallState, message: PageCallMessage, took: number): PageCallState => {
  switch (message._tag) {
    case "Started":
      return call._tag === "Running" ? { ...call, as: describeCaller(message) } : call
    case "Status": {
      if (call._tag !== "Running") return call
      const { status } = message
      const { progress, total = 0 } = status._tag === "Progressing" ? status : { progress: 0 }
      return {
        _tag: "Running",
        as: call.as,
        status: describeStatus(status),
        progress: total > 0 ? Math.min(1, Math.max(0, progress / total)) : undefined,
        approvalId: status._tag === "WaitingForConsent" ? status.approval?.id : undefined
      }
    }
    case "Result":
      return { _tag: "Ended", result: message.result, took }
    case "Failed":
      return { _tag: "Failed", error: message.error, took }
  }
}

const setCall = (key: string, call: PageToolCall): void => {
  const others = [...pageCalls.peek()].filter(([other]) => other !== key)
  const ended = others.filter(([, { state }]) => state._tag !== "Running")
  const dropped = new Set(ended.slice(0, Math.max(0, others.length + 1 - maxCalls)).map(([other]) => other))
  pageCalls.value = new Map([...others.filter(([other]) => !dropped.has(other)), [key, call]])
}

/** Calls a tool, instead of the call of the same tool before, which is cancelled. */
export const startPageCall = async (request: PageCallRequest): Promise<void> => {
  const key = pageCallKey(request)
  pageCalls.peek().get(key)?.abort.abort()
  const abort = new AbortController()
  const start = performance.now()
  let state: PageCallState = { _tag: "Running", as: "", status: "" }
  setCall(key, { request, state, abort })
  const show = (next: PageCallState): void => {
    state = next
    if (pageCalls.peek().get(key)?.abort === abort) setCall(key, { request, state, abort })
  }
  try {
    for await (const message of callOfficeTool(request, abort.signal)) {
      show(applyCallMessage(state, message, performance.now() - start))
    }
    if (state._tag === "Running") throw new Error("The Server ended the reply before the result")
  } catch (error) {
    const failure = abort.signal.aborted ? { code: 0, message: "cancelled" } : pageErrorOf(error)
    show({ _tag: "Failed", error: failure, took: performance.now() - start })
  }
}

/** Cancels and forgets all calls: the operator has signed out. */
export const clearPageCalls = (): void => {
  for (const { abort } of pageCalls.peek().values()) abort.abort()
  pageCalls.value = new Map()
}
