import { useEffect, useRef, useState } from "preact/hooks"
import { describeStatus } from "../../../../domain/page/calls/callPhase.ts"
import type { JsonObject } from "../../../../domain/json.ts"
import type { PageCallMessage, PageCallRequest, PageError } from "../../../../domain/page/PageCommand.ts"
import { pageErrorOf } from "../../connection/api.ts"
import { callOfficeTool } from "../../connection/callOfficeTool.ts"

/** A call that the page makes. */
export type PageToolCall =
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

const describeCaller = (started: Extract<PageCallMessage, { readonly _tag: "Started" }>): string =>
  started.as === "agent"
    ? `The call runs as the Agent ${started.name} of the office.`
    : `The call runs beside the Agent of the office, as ${started.name}.`

const applyCallMessage = (call: PageToolCall, message: PageCallMessage, took: number): PageToolCall => {
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

/** Calls tools, one at a time. Leaving the view cancels the call. */
export const useToolCall = () => {
  const [call, setCall] = useState<PageToolCall>()
  const [request, setRequest] = useState<PageCallRequest>()
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])

  const run = async (next: PageCallRequest): Promise<void> => {
    abort.current?.abort()
    setRequest(next)
    const controller = new AbortController()
    abort.current = controller
    const start = performance.now()
    let current: PageToolCall = { _tag: "Running", as: "", status: "" }
    const show = (changed: PageToolCall): void => {
      current = changed
      if (abort.current === controller) setCall(changed)
    }
    show(current)
    try {
      for await (const message of callOfficeTool(next, controller.signal)) {
        show(applyCallMessage(current, message, performance.now() - start))
      }
      if (current._tag === "Running") throw new Error("The Server ended the reply before the result")
    } catch (error) {
      const failure = controller.signal.aborted ? { code: 0, message: "cancelled" } : pageErrorOf(error)
      show({ _tag: "Failed", error: failure, took: performance.now() - start })
    }
  }
  return { call, request, run, cancel: () => abort.current?.abort() }
}
