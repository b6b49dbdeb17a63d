import { useRef, useState } from "preact/hooks"
import type { PageError, PageReplies } from "../../../../domain/page/PageCommand.ts"
import { formatOutcome } from "../../../../domain/policy/Rule.ts"
import type { PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import { pageErrorOf, sendCommand } from "../../connection/api.ts"
import { Select } from "../../parts/controls.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"

type Explained = PageReplies["ExplainCall"]

const Steps = ({ steps }: Pick<Explained, "steps">) => (
  <ol class="note" aria-label="Rules that were compared">
    {steps.map(({ action, mismatch, rule }, index) => (
      <li key={index}>
        <Name of={rule} />, {action}: {mismatch === undefined ? "applies" : "does not apply, by its "}
        {mismatch !== undefined && <Name of={mismatch} />}
      </li>
    ))}
  </ol>
)

const Explanation = ({ explained }: { readonly explained: Explained }) => {
  const { action, by, reason } = explained.decision
  return (
    <div role="status">
      <p>
        Decided by <Name of={by} />: {formatOutcome(action, explained.canAsk)}.
      </p>
      {reason !== undefined && <LongText text={reason} />}
      {explained.steps.length > 0 && <Steps steps={explained.steps} />}
    </div>
  )
}

type State = { readonly explained: Explained } | { readonly error: PageError }

interface ExplainProps {
  /** The call; `undefined` while its arguments are invalid. */
  readonly command: Omit<PageCommandOf<"ExplainCall">, "_tag" | "subject"> | undefined
  /** The Agents of the office, of which one may be the caller. */
  readonly agents: ReadonlyArray<string>
}

/** Asks the Computer how it would decide the call, which does not run. */
export const ExplainCall = ({ agents, command }: ExplainProps) => {
  const [subject, setSubject] = useState("")
  const [state, setState] = useState<State>()
  const latest = useRef(0)
  const explain = async () => {
    if (command === undefined) return
    const number = ++latest.current
    const next = await sendCommand<"ExplainCall">({
      ...command,
      _tag: "ExplainCall",
      ...(subject !== "" && { subject })
    }).then(
      (explained): State => ({ explained }),
      (error: unknown): State => ({ error: pageErrorOf(error) })
    )
    if (number === latest.current) setState(next)
  }
  return (
    <section class="card" aria-label="Decision">
      <div class="field">
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
        <button type="button" disabled={command === undefined} onClick={() => void explain()}>
          Which rule decides?
        </button>
      </div>
      {state !== undefined &&
        ("error" in state ? (
          <div class="error" role="alert">
            <LongText text={state.error.message} />
          </div>
        ) : (
          <Explanation explained={state.explained} />
        ))}
    </section>
  )
}
