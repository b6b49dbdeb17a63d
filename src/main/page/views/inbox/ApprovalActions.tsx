import type { TargetedMouseEvent } from "preact"
import { useId, useMemo, useState } from "preact/hooks"
import type { PageCommandOf, PageError } from "../../../../domain/page/PageCommand.ts"
import { serverNow } from "../../connection/store.ts"
import { Select } from "../../parts/controls.tsx"
import { truncate, visibleLine } from "../../parts/visibleText.ts"
import type { ApprovalView } from "../../../../domain/approvals/ApprovalView.ts"
import { parseAnswerErrors } from "../../../../domain/approvals/Approval.ts"
import { initialValue } from "../../../../domain/schemas/formValue.ts"
import { formOfSchema } from "../../../../domain/schemas/schemaForm.ts"
import { ErrorText } from "../../parts/missing.tsx"
import { SchemaForm } from "../../parts/SchemaForm.tsx"
import { LongText } from "../../parts/Text.tsx"

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
  /** The access key. Of several buttons with one key a browser moves the focus only. */
  readonly accessKey?: string
  readonly kind?: "primary" | "danger"
  /** The visible label, followed by the tool for screen readers. */
  readonly label: string
  readonly tool: string
  readonly isBlocked: boolean
  /** False while the button may have moved under the pointer. The keyboard chooses by the focus, which moves along. */
  readonly isSteady: boolean
  readonly type?: "submit"
  /** Missing for a button that sends its form. */
  readonly onPress?: () => void
}

const AnswerButton = ({ accessKey = "", isBlocked, isSteady, kind, label, onPress, tool, type }: AnswerButtonProps) => {
  const press = (event: TargetedMouseEvent<HTMLButtonElement>) => {
    const isPointer = event.detail > 0
    const isAccepted = !isBlocked && (isSteady || !isPointer)
    if (!isAccepted || onPress !== undefined) event.preventDefault()
    if (isAccepted) onPress?.()
  }
  return (
    <button
      type={type ?? "button"}
      class={kind ?? ""}
      accessKey={accessKey}
      aria-label={visibleLine(`${label}: ${truncate(tool, 200)}`)}
      // A disabled button would lose the focus.
      aria-disabled={isBlocked || !isSteady}
      onClick={press}
    >
      {label}
    </button>
  )
}

export interface ApprovalActionsProps extends Pick<AnswerButtonProps, "tool" | "isSteady" | "isBlocked"> {
  readonly onAnswer: (answer: Answer) => void
  /** The error of the last answer. */
  readonly error: PageError | undefined
}

export const ApprovalActions = ({ error, onAnswer, ...common }: ApprovalActionsProps) => {
  const id = useId()
  const [period, setPeriod] = useState(0)
  const [reason, setReason] = useState("")
  const allowTool = () => {
    const millis = periods[period]?.millis
    const until = millis === undefined ? {} : { until: Math.round(serverNow() + millis) }
    onAnswer({ action: "allow", scope: "tool", ...until })
  }
  const deny = () => onAnswer({ action: "deny", ...(reason.trim() !== "" && { reason: reason.trim() }) })
  return (
    <form class="answers">
      {error !== undefined && <ErrorText error={error} isAlert />}
      <div class="row field">
        <AnswerButton
          {...common}
          kind="primary"
          accessKey="a"
          label="Allow once"
          onPress={() => onAnswer({ action: "allow", scope: "once" })}
        />
        <span class="row">
          <AnswerButton {...common} label="Allow this tool in this office" onPress={allowTool} />
          <Select
            attributes={{ "aria-label": "How long the tool is allowed" }}
            value={period}
            options={periods.map(({ label }, index) => [index, label])}
            onSelect={(value) => setPeriod(Number(value))}
          />
        </span>
      </div>
      <div class="row field">
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
        <AnswerButton {...common} accessKey="d" kind="danger" label="Deny" type="submit" onPress={deny} />
      </div>
    </form>
  )
}

interface QuestionFormProps extends ApprovalActionsProps {
  readonly input: NonNullable<ApprovalView["input"]>
  /** What the user has entered; `undefined` before. */
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/** The page of a question. Its host is shown as the browser reads it: foreign letters are escaped. */
const PageLink = ({ url }: { readonly url: string }) => {
  const parsed = URL.parse(url)
  if (parsed === null || !["http:", "https:"].includes(parsed.protocol))
    return <p class="error">The address of the page is invalid.</p>
  return (
    <>
      <p>
        The page is at <strong>{visibleLine(parsed.host)}</strong>. Its content does not pass this office.
      </p>
      <p>
        <a href={parsed.href} target="_blank" rel="noopener noreferrer">
          {visibleLine(parsed.href)}
        </a>
      </p>
    </>
  )
}

/** The question of an MCP server with its form, or its page, and the answers. */
export const QuestionForm = ({ error, input, onAnswer, onChange, value, ...common }: QuestionFormProps) => {
  const isPage = input.mode === "url"
  const form = useMemo(() => formOfSchema(isPage ? { type: "object" } : (input.schema ?? {})), [input])
  return (
    <section class="answers question">
      <h3>Question of the MCP server</h3>
      <LongText text={input.message} />
      {isPage && <PageLink url={input.url} />}
      <SchemaForm
        field={form}
        label="Answer"
        value={value ?? initialValue(form)}
        onChange={onChange}
        empty={isPage ? "Say so when you have opened the page." : "The answer has no fields."}
        found={error && parseAnswerErrors(error.message)}
        onSend={(content) => onAnswer({ action: "allow", ...(!isPage && { content }) })}
      >
        <div class="row field">
          <AnswerButton {...common} kind="primary" label={isPage ? "I opened the page" : "Send"} type="submit" />
          <AnswerButton {...common} kind="danger" label="Decline" onPress={() => onAnswer({ action: "deny" })} />
          <AnswerButton {...common} label="Close" onPress={() => onAnswer({ action: "cancel" })} />
        </div>
      </SchemaForm>
    </section>
  )
}
