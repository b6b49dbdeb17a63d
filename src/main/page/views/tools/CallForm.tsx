import { useMemo, useState } from "preact/hooks"
import { type JsonObject, parseJsonObject } from "../../../../domain/json.ts"
import { copyAsCommand, describeStatus } from "../../../../domain/page/calls/callPhase.ts"
import type { PageReplies, PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { formatOutcome } from "../../../../domain/policy/Rule.ts"
import { initialValue } from "../../../../domain/schemas/formValue.ts"
import { formOfSchema } from "../../../../domain/schemas/schemaForm.ts"
import { argumentProblems } from "../../../../domain/schemas/violations.ts"
import { sendCommand, useAction } from "../../connection/api.ts"
import { pageCallKey, pageCalls, startPageCall, type PageToolCall } from "../../connection/pageCalls.ts"
import { readInput, writeInput } from "../../connection/storage.ts"
import { connectionWords, currentOffice, session } from "../../connection/store.ts"
import { CopyButton, Select } from "../../parts/controls.tsx"
import { ErrorText } from "../../parts/missing.tsx"
import { SchemaForm } from "../../parts/SchemaForm.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"
import type { PageTool } from "./officeTools.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { CallResult } from "../../parts/CallResult.tsx"
import { AppCard } from "../apps/AppCard.tsx"
import { CallApprovals } from "../inbox/CallApprovals.tsx"

/** The bounds of a timeout in seconds, as the protocol has them. */
const maxTimeoutSeconds = 3_600
const defaultTimeoutSeconds = 60

/** The form of a tool, its run and its result side by side. The call continues when the view changes. */
export const CallForm = ({ address, chosen }: { readonly address: OfficeAddress; readonly chosen: PageTool }) => {
  const { computer, key, tool } = chosen
  const form = useMemo(() => formOfSchema(tool.paramsSchema), [tool])
  const [value, setValue] = useState<unknown>(() => parseJsonObject(readInput(key)) ?? initialValue(form))
  const text = JSON.stringify(value)
  const params = parseJsonObject(text)
  const [timeout, setTimeoutSeconds] = useState(defaultTimeoutSeconds)
  const { agents } = currentOffice(address)
  const { approvals, operatorCalls } = computer.features
  const isOfAgent = session.value?.office !== undefined
  // The call of an operator may be that of the Agent.
  const isFree = agents.every(({ name }) => name === `operator:${session.value?.subject ?? ""}`)
  const isPermitted = isOfAgent || isFree || operatorCalls
  const target = { ...address, computer: computer.name, tool: tool.name }
  const call = pageCalls.value.get(pageCallKey(target))
  const isRunning = call !== undefined && call.end === undefined
  const start = (params: JsonObject) => {
    writeInput(key, text)
    void startPageCall({ ...target, params, timeout })
  }
  return (
    <div class="columns">
      <SchemaForm
        field={form}
        label="Call"
        value={value}
        onChange={setValue}
        empty="The tool has no parameters."
        hasJson
        found={call?.end?._tag === "Result" ? argumentProblems(call.end.result) : undefined}
        onSend={start}
      >
        {!isPermitted && (
          <p class="error">
            This Computer does not run calls of operators while the office has an Agent.{" "}
            <code>a2c computer --operators</code> permits them.
          </p>
        )}
        <div class="row field">
          <button type="submit" class="primary" disabled={isRunning || params === undefined}>
            Run
          </button>
          {isRunning && (
            <button type="button" onClick={() => call.abort.abort()}>
              Cancel
            </button>
          )}
          <label for="call-timeout">Timeout in seconds</label>
          <input
            id="call-timeout"
            type="number"
            min={1}
            max={maxTimeoutSeconds}
            required
            value={timeout}
            onInput={({ currentTarget: { valueAsNumber } }) =>
              Number.isInteger(valueAsNumber) &&
              setTimeoutSeconds(Math.min(maxTimeoutSeconds, Math.max(1, valueAsNumber)))
            }
          />
          {params !== undefined && (
            <CopyButton label="Copy as a command" text={copyAsCommand(target, connectionWords(), params)} />
          )}
        </div>
        {!isOfAgent && (approvals || operatorCalls) && (
          <ExplainCall command={params && { ...target, params }} agents={agents.map(({ name }) => name)} />
        )}
      </SchemaForm>
      <section class="card" aria-label="Result">
        {call === undefined ? (
          <p class="note">
            {isOfAgent
              ? "The Agent of this page makes the call. Its result appears here."
              : "Members of the office see the call under your name. Its result appears here."}
          </p>
        ) : (
          <RunningCall call={call} tool={tool} />
        )}
      </section>
    </div>
  )
}

interface ExplainProps {
  /** The call; `undefined` while its arguments are invalid. */
  readonly command: Omit<PageCommandOf<"ExplainCall">, "_tag" | "subject"> | undefined
  /** The Agents of the office, of which one may be the caller. */
  readonly agents: ReadonlyArray<string>
}

interface RunningCallProps {
  readonly call: PageToolCall
  readonly tool: Tool
}

/** A call from its start to its result, with the approval that it waits for. */
const RunningCall = ({ call: { end, request, started, status }, tool }: RunningCallProps) => {
  if (end === undefined) {
    const { progress, total = 0 } = status?._tag === "Progressing" ? status : { progress: 0 }
    const approval = status?._tag === "WaitingForConsent" ? status.approval : undefined
    return (
      <>
        <div role="status">
          <p>
            Running.{" "}
            {started && (
              <>
                The call runs {started.as === "agent" ? "as the Agent" : "beside the Agent of the office, as"}{" "}
                <Name of={started.name} length={1_000} />
                {started.as === "agent" && " of the office"}.
              </>
            )}
          </p>
          {status && (
            <p>
              <Name of={describeStatus(status)} length={1_000} />
            </p>
          )}
          {total > 0 && <progress value={progress / total} aria-label="progress of the call" />}
        </div>
        <CallApprovals isShown={(one) => one.approval.id === approval?.id} />
      </>
    )
  }
  if (end._tag === "Failed")
    return (
      <div class="error" role="alert">
        <p>
          Failed after {formatDuration(end.took)}
          {end.error.code !== 0 && ` with code ${end.error.code}`}:
        </p>
        <LongText text={end.error.message} />
      </div>
    )
  return (
    <>
      <p class="note">Ended after {formatDuration(end.took)}</p>
      <CallResult result={end.result} />
      <AppCard target={request} tool={tool} params={request.params} result={end.result} />
    </>
  )
}

/** Asks the Computer how it would decide the call, which does not run. */
const ExplainCall = ({ agents, command }: ExplainProps) => {
  const [subject, setSubject] = useState("")
  const { error, reply, run } = useAction<PageReplies["ExplainCall"]>()
  const explain = () => {
    if (command === undefined) return
    const asked = { ...command, _tag: "ExplainCall", ...(subject !== "" && { subject }) } as const
    run((signal) => sendCommand<"ExplainCall">(asked, signal))
  }
  return (
    <section class="field" aria-label="Decision">
      <div class="row field">
        {agents.length > 0 && (
          <>
            <label for="explain-caller">Caller</label>
            <Select
              attributes={{ id: "explain-caller" }}
              value={subject}
              options={[["", "you"], ...agents.map((name) => [name, visibleLine(name)] as const)]}
              onSelect={setSubject}
            />
          </>
        )}
        <button type="button" disabled={command === undefined} onClick={explain}>
          Which rule decides?
        </button>
      </div>
      {error !== undefined && <ErrorText error={error} isAlert />}
      {reply !== undefined && (
        <div role="status">
          <p>
            Decided by <Name of={reply.decision.by} />: {formatOutcome(reply.decision.action, reply.canAsk)}.
          </p>
          {reply.decision.reason !== undefined && <LongText text={reply.decision.reason} />}
          {reply.steps.length > 0 && (
            <ol class="note" aria-label="Rules that were compared">
              {reply.steps.map(({ action, mismatch, rule }, index) => (
                <li key={index}>
                  <Name of={rule} />, {action}: {mismatch === undefined ? "applies" : "does not apply, by its "}
                  {mismatch !== undefined && <Name of={mismatch} />}
                </li>
              ))}
            </ol>
          )}
        </div>
      )}
    </section>
  )
}
