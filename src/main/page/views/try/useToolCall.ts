import { useEffect, useRef, useState } from "preact/hooks"
import { describeStatus } from "../../../../domain/page/calls/callPhase.ts"
import { definedOnly } from "../../../../domain/objects.ts"
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
      readonly progress?: number
      /** The approval that the call waits for. */
      readonly approvalId?: string
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
      const share =
        status._tag === "Progressing" && status.total !== undefined && status.total > 0
          ? Math.min(1, Math.max(0, status.progress / status.total))
          : undefined
      const approvalId = status._tag === "WaitingForConsent" ? status.approval?.id : undefined
      return {
        _tag: "Running",
        as: call.as,
        status: describeStatus(status),
        ...definedOnly({ progress: share, approvalId })
      }
    }
    case "Result":
      return { _tag: "Ended", result: message.result, took }
    case "Failed":
      return { _tag: "Failed", error: message.error, took }
  }
}

const isRunning = (call: PageToolCall | undefined): boolean => call?._tag === "Running"

/** Calls tools, one at a time. Leaving the view cancels the call. */
export const useToolCall = () => {
  const [call, setCall] = useState<PageToolCall>()
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])

  const run = async (request: PageCallRequest): Promise<void> => {
    abort.current?.abort()
    const controller = new AbortController()
    abort.current = controller
    const start = performance.now()
    let current: PageToolCall = { _tag: "Running", as: "", status: "" }
    const show = (next: PageToolCall): void => {
      current = next
      if (abort.current === controller) setCall(next)
    }
    show(current)
    try {
      for await (const message of callOfficeTool(request, controller.signal)) {
        show(applyCallMessage(current, message, performance.now() - start))
      }
      if (isRunning(current)) throw new Error("The Server ended the reply before the result")
    } catch (error) {
      const failure = controller.signal.aborted ? { code: 0, message: "cancelled" } : pageErrorOf(error)
      show({ _tag: "Failed", error: failure, took: performance.now() - start })
    }
  }
  return { call, run, cancel: () => abort.current?.abort() }
}
