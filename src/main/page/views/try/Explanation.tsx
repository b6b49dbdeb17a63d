import { useState } from "preact/hooks"
import type { PageReplies, PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import { formatOutcome } from "../../../../domain/policy/Rule.ts"
import { sendCommand, useAction } from "../../connection/api.ts"
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

interface ExplainProps {
  /** The call; `undefined` while its arguments are invalid. */
  readonly command: Omit<PageCommandOf<"ExplainCall">, "_tag" | "subject"> | undefined
  /** The Agents of the office, of which one may be the caller. */
  readonly agents: ReadonlyArray<string>
}

/** Asks the Computer how it would decide the call, which does not run. */
export const ExplainCall = ({ agents, command }: ExplainProps) => {
  const [subject, setSubject] = useState("")
  const { error, reply, run } = useAction<Explained>()
  const explain = () => {
    if (command === undefined) return
    const asked = { ...command, _tag: "ExplainCall", ...(subject !== "" && { subject }) } as const
    run((signal) => sendCommand<"ExplainCall">(asked, signal))
  }
  return (
    <section class="card" aria-label="Decision">
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
      {error !== undefined && (
        <div class="error" role="alert">
          <LongText text={error.message} />
        </div>
      )}
      {reply !== undefined && <Explanation explained={reply} />}
    </section>
  )
}
