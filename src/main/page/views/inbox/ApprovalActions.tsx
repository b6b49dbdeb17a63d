import type { ComponentChildren, TargetedMouseEvent } from "preact"
import { useId, useState } from "preact/hooks"
import type { PageCommandOf } from "../../../../domain/page/PageCommand.ts"
import { serverNow } from "../../connection/store.ts"
import { Select } from "../../parts/controls.tsx"
import { truncate, visibleLine } from "../../parts/visibleText.ts"

/** The answer of a command. */
export type Answer = Pick<PageCommandOf<"DecideApproval">, "action" | "scope" | "until" | "reason" | "content">

/** The length of the reason of a denial, as the command bounds it. */
const maxReasonLength = 500

/** How long a tool may be allowed, in milliseconds. */
const periods: ReadonlyArray<{ readonly label: string; readonly millis?: number }> = [
  { label: "for 1 hour", millis: 3_600_000 },
  { label: "for 8 hours", millis: 8 * 3_600_000 },
  { label: "until it is revoked" }
]

interface AnswerButtonProps {
  readonly kind?: "primary" | "danger"
  /** The visible label, followed by the tool for screen readers. */
  readonly label: string
  readonly tool: string
  readonly isBlocked: boolean
  /** False while the button may have moved under the pointer. The keyboard chooses by the focus, which moves along. */
  readonly isSteady: boolean
  readonly type?: "submit"
  readonly onPress: () => void
}

export const AnswerButton = ({ isBlocked, isSteady, kind, label, onPress, tool, type }: AnswerButtonProps) => {
  const press = (event: TargetedMouseEvent<HTMLButtonElement>) => {
    event.preventDefault()
    const isPointer = event.detail > 0
    if (!isBlocked && (isSteady || !isPointer)) onPress()
  }
  return (
    <button
      type={type ?? "button"}
      class={kind ?? ""}
      aria-label={visibleLine(`${label}: ${truncate(tool, 200)}`)}
      // A disabled button would lose the focus.
      aria-disabled={isBlocked || !isSteady}
      onClick={press}
    >
      {label}
    </button>
  )
}

export interface ApprovalActionsProps extends Pick<AnswerButtonProps, "tool" | "isSteady"> {
  readonly isSending: boolean
  readonly onAnswer: (answer: Answer) => void
  /** The error of the last answer. */
  readonly children: ComponentChildren
}

/** The answers to an approval. */
export const ApprovalActions = ({ children, isSending, isSteady, onAnswer, tool }: ApprovalActionsProps) => {
  const id = useId()
  const [period, setPeriod] = useState(0)
  const [reason, setReason] = useState("")
  const common = { tool, isSteady, isBlocked: isSending }
  const allowTool = () => {
    const millis = periods[period]?.millis
    onAnswer({
      action: "allow",
      scope: "tool",
      ...(millis !== undefined && { until: Math.round(serverNow() + millis) })
    })
  }
  const deny = () => onAnswer({ action: "deny", ...(reason.trim() !== "" && { reason: reason.trim() }) })
  return (
    <form class="answers">
      {children}
      <div class="field">
        <AnswerButton
          {...common}
          kind="primary"
          label="Allow once"
          onPress={() => onAnswer({ action: "allow", scope: "once" })}
        />
        <span class="answer">
          <AnswerButton {...common} label="Allow this tool in this office" onPress={allowTool} />
          <Select
            attributes={{ "aria-label": "How long the tool is allowed" }}
            value={period}
            options={periods.map(({ label }, index) => [index, label])}
            onSelect={(value) => setPeriod(Number(value))}
          />
        </span>
      </div>
      <div class="field">
        <label for={id}>Reason of a denial</label>
        <input
          id={id}
          type="text"
          maxLength={maxReasonLength}
          placeholder="optional, the Agent receives it"
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
        {/* Enter in the reason denies: it is the only button that submits. */}
        <AnswerButton {...common} kind="danger" label="Deny" type="submit" onPress={deny} />
      </div>
    </form>
  )
}
