import { useEffect, useRef, useState } from "preact/hooks"
import { describeStatus } from "../../../../domain/page/calls/callPhase.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { PageCallMessage, PageCallRequest, PageError } from "../../../../domain/page/PageCommand.ts"
import { pageErrorOf } from "../../connection/api.ts"
import { callOfficeTool } from "../../connection/callOfficeTool.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { JsonText, LongText, Name } from "../../parts/Text.tsx"
import { AppCard } from "../apps/AppCard.tsx"
import { openApprovals } from "../../connection/store.ts"
import { ApprovalCard, canDecide, useSteady } from "../inbox/ApprovalCard.tsx"
import { type JsonObject, objectsIn } from "../../../../domain/json.ts"
import { ContentBlockView } from "../../parts/Markdown.tsx"

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

/** What a call of this view waits for, with the answers: the inbox is another view, and to leave this one cancels the call. */
const CallApproval = ({ id }: { readonly id: string }) => {
  const box = useRef<HTMLDivElement>(null)
  const isSteady = useSteady(box)
  const entry = openApprovals.value.find(({ approval }) => approval.id === id)
  return (
    <div ref={box}>
      {entry !== undefined && canDecide(entry) && (
        <ApprovalCard entry={{ ...entry, isOpen: true }} canDecide isSteady={isSteady} />
      )}
    </div>
  )
}

/** Blocks of a result that are shown; the whole result is below as JSON. */
const maxBlocks = 100

/** The result of a tool: its blocks, and the whole as JSON. */
const CallResult = ({ result }: { readonly result: JsonObject }) => {
  const { content, isError, structuredContent } = result
  const blocks = objectsIn(content)
  return (
    <div>
      <p role="status" class={isError === true ? "error" : "good"}>
        {isError === true ? "The tool returned an error" : "The tool succeeded"}
      </p>
      {blocks.slice(0, maxBlocks).map((block, index) => (
        <ContentBlockView key={index} block={block} />
      ))}
      {structuredContent !== undefined && (
        <>
          <h2>Structured content</h2>
          <JsonText value={structuredContent} />
        </>
      )}
      <details>
        <summary>Result as JSON</summary>
        <JsonText value={result} />
      </details>
    </div>
  )
}

interface RunningCallProps {
  readonly call: PageToolCall
  readonly request: PageCallRequest
  readonly tool: Tool
}

/** A call from its start to its result, with the approval that it waits for. */
export const RunningCall = ({ call, request, tool }: RunningCallProps) => {
  switch (call._tag) {
    case "Running":
      return (
        <>
          <div role="status">
            <p>
              Running. <Name of={call.as} length={1_000} />
            </p>
            {call.status !== "" && (
              <p>
                <Name of={call.status} length={1_000} />
              </p>
            )}
            {call.progress !== undefined && <progress value={call.progress} aria-label="progress of the call" />}
          </div>
          {call.approvalId !== undefined && <CallApproval key={call.approvalId} id={call.approvalId} />}
        </>
      )
    case "Failed":
      return (
        <div class="error" role="alert">
          <p>
            Failed after {formatDuration(call.took)}
            {call.error.code !== 0 && ` with code ${call.error.code}`}:
          </p>
          <LongText text={call.error.message} />
        </div>
      )
    case "Ended":
      return (
        <>
          <p class="note">Ended after {formatDuration(call.took)}</p>
          <CallResult result={call.result} />
          <AppCard target={request} tool={tool} params={request.params} result={call.result} />
        </>
      )
  }
}
