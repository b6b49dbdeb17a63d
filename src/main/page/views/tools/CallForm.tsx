import { useMemo, useState } from "preact/hooks"
import { escapeLinesForTerminal } from "../../../../domain/text/escapeForTerminal.ts"
import { parseJsonObject } from "../../../../domain/json.ts"
import { copyAsCommand } from "../../../../domain/page/calls/callPhase.ts"
import {
  findJsonError,
  type Draft,
  draftOfValue,
  initialDraft,
  valueOfDraft
} from "../../../../domain/page/form/formDraft.ts"
import { argumentProblems } from "../../../../domain/schemas/violations.ts"
import { formOfSchema } from "../../../../domain/schemas/schemaForm.ts"
import type { OfficeAddress } from "../../../../domain/page/PageEvent.ts"
import { pageCallKey, pageCalls, startPageCall } from "../../connection/pageCalls.ts"
import { connectionWords, currentOffice, session } from "../../connection/store.ts"
import { readInput, writeInput } from "../../connection/storage.ts"
import { SchemaForm, useFormCheck } from "../../parts/FormFields.tsx"
import { CopyButton, Select } from "../../parts/controls.tsx"
import { ErrorText } from "../../parts/missing.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"
import type { PageTool } from "./officeTools.ts"
import { RunningCall } from "./RunningCall.tsx"
import type { PageReplies, PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import { formatOutcome } from "../../../../domain/policy/Rule.ts"
import { sendCommand, useAction } from "../../connection/api.ts"

/** The bounds of a timeout in seconds, as the protocol has them. */
const maxTimeoutSeconds = 3_600
const defaultTimeoutSeconds = 60

/** Lines of the arguments as JSON that are shown without scrolling. */
const minRows = 5
const maxRows = 16

/** JSON text in which characters that hide or reorder others are escapes, with the same meaning. */
const formatJson = (value: unknown): string => escapeLinesForTerminal(JSON.stringify(value, null, 2))

/** The form and the JSON text of the arguments, which follow each other. */
const useArguments = ({ key, tool }: PageTool) => {
  const form = useMemo(() => formOfSchema(tool.paramsSchema), [tool])
  const stateOf = (draft: Draft) => ({ draft, text: formatJson(valueOfDraft(form, draft).value ?? {}), isTyped: false })
  const [state, setState] = useState(() => {
    const last = parseJsonObject(readInput(key))
    return stateOf(last === undefined ? initialDraft(form) : draftOfValue(form, last))
  })
  const params = parseJsonObject(state.text)
  return {
    form,
    ...state,
    setDraft: (draft: Draft) => setState(stateOf(draft)),
    setText: (text: string) => {
      const value = parseJsonObject(text)
      setState(({ draft }) => ({ draft: value === undefined ? draft : draftOfValue(form, value), text, isTyped: true }))
    },
    params,
    error: findJsonError(state.text) ?? (params === undefined ? "the arguments are a JSON object" : undefined),
    /** What is wrong with the form. The Computer checks what is entered as JSON. */
    problems: state.isTyped ? [] : valueOfDraft(form, state.draft).problems
  }
}

/** The arguments as JSON, which follow the form. */
const JsonArguments = (given: ReturnType<typeof useArguments>) => (
  <details class="field" open={given.form._tag !== "Group"}>
    <summary>Arguments as JSON</summary>
    <textarea
      class="code"
      aria-label="Arguments as JSON"
      rows={Math.min(maxRows, Math.max(minRows, given.text.split("\n").length + 1))}
      spellcheck={false}
      value={given.text}
      aria-invalid={given.error !== undefined}
      aria-describedby="json-error"
      onInput={({ currentTarget: { value } }) => given.setText(value)}
    />
    <p id="json-error" class="error">
      {given.error && visibleLine(given.error)}
    </p>
  </details>
)

/** The form of a tool, its run and its result side by side. The call continues when the view changes. */
export const CallForm = ({ address, chosen }: { readonly address: OfficeAddress; readonly chosen: PageTool }) => {
  const given = useArguments(chosen)
  const { params } = given
  const { check, form, shown } = useFormCheck(given.problems)
  const [timeout, setTimeoutSeconds] = useState(defaultTimeoutSeconds)
  const { agents } = currentOffice(address)
  const { approvals, operatorCalls } = chosen.computer.features
  const isOfAgent = session.value?.office !== undefined
  // The call of an operator may be that of the Agent.
  const isFree = agents.every(({ name }) => name === `operator:${session.value?.subject ?? ""}`)
  const isPermitted = isOfAgent || isFree || operatorCalls
  const target = { ...address, computer: chosen.computer.name, tool: chosen.tool.name }
  const call = pageCalls.value.get(pageCallKey(target))
  const isRunning = call !== undefined && call.end === undefined
  const problems = new Map(call?.end?._tag === "Result" ? argumentProblems(call.end.result) : [])
  for (const [path, message] of shown) problems.set(path, message)
  const start = (event: Event) => {
    event.preventDefault()
    if (params === undefined || !check()) return
    writeInput(chosen.key, given.text)
    void startPageCall({ ...target, params, timeout })
  }
  return (
    <div class="columns">
      <form ref={form} noValidate onSubmit={start} aria-label="Call">
        {!isPermitted && (
          <p class="error">
            This Computer does not run calls of operators while the office has an Agent.{" "}
            <code>a2c computer --operators</code> permits them.
          </p>
        )}
        <SchemaForm
          field={given.form}
          draft={given.draft}
          onChange={given.setDraft}
          problems={problems}
          empty="The tool has no parameters."
          missing="The schema of this tool has no form. Enter the arguments as JSON."
        />
        <JsonArguments {...given} />
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
      </form>
      <section class="card" aria-label="Result">
        {call === undefined ? (
          <p class="note">
            {isOfAgent
              ? "The Agent of this page makes the call. Its result appears here."
              : "Members of the office see the call under your name. Its result appears here."}
          </p>
        ) : (
          <RunningCall call={call} tool={chosen.tool} />
        )}
      </section>
    </div>
  )
}

type Explained = PageReplies["ExplainCall"]

const Explanation = ({ explained }: { readonly explained: Explained }) => {
  const { action, by, reason } = explained.decision
  return (
    <div role="status">
      <p>
        Decided by <Name of={by} />: {formatOutcome(action, explained.canAsk)}.
      </p>
      {reason !== undefined && <LongText text={reason} />}
      {explained.steps.length > 0 && (
        <ol class="note" aria-label="Rules that were compared">
          {explained.steps.map(({ action, mismatch, rule }, index) => (
            <li key={index}>
              <Name of={rule} />, {action}: {mismatch === undefined ? "applies" : "does not apply, by its "}
              {mismatch !== undefined && <Name of={mismatch} />}
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

interface ExplainProps {
  /** The call; `undefined` while its arguments are invalid. */
  readonly command: Omit<PageCommandOf<"ExplainCall">, "_tag" | "subject"> | undefined
  /** The Agents of the office, of which one may be the caller. */
  readonly agents: ReadonlyArray<string>
}

/** Asks the Computer how it would decide the call, which does not run. */
const ExplainCall = ({ agents, command }: ExplainProps) => {
  const [subject, setSubject] = useState("")
  const { error, reply, run } = useAction<Explained>()
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
      {reply !== undefined && <Explanation explained={reply} />}
    </section>
  )
}
