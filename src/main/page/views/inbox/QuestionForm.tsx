import type { TargetedSubmitEvent } from "preact"
import { useMemo, useState } from "preact/hooks"
import type { ApprovalView } from "../../../../domain/approvals/ApprovalView.ts"
import { parseAnswerErrors } from "../../../../domain/approvals/Approval.ts"
import { isJsonObject } from "../../../../domain/json.ts"
import { type Draft, initialDraft, valueOfDraft } from "../../../../domain/page/form/formDraft.ts"
import { formOfSchema } from "../../../../domain/schemas/schemaForm.ts"
import type { PageError } from "../../../../domain/page/PageCommand.ts"
import { GroupFields } from "../../parts/FormFields.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"
import { AnswerButton, type ApprovalActionsProps } from "./ApprovalActions.tsx"

type Input = NonNullable<ApprovalView["input"]>

interface QuestionFormProps extends Omit<ApprovalActionsProps, "children"> {
  readonly input: Input
  /** What the user has entered; `undefined` before. */
  readonly draft: Draft | undefined
  readonly onDraft: (draft: Draft) => void
  /** The error of the last answer. */
  readonly error: PageError | undefined
}

/** The page of a question. Its host is shown as the browser reads it: foreign letters are escaped. */
const PageLink = ({ url }: { readonly url: string }) => {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !["http:", "https:"].includes(parsed.protocol)) {
    return <p class="error">The address of the page is invalid.</p>
  }
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
export const QuestionForm = ({
  draft,
  error,
  input,
  isSending,
  isSteady,
  onAnswer,
  onDraft,
  tool
}: QuestionFormProps) => {
  const form = useMemo(() => (input.mode === "form" && input.schema ? formOfSchema(input.schema) : undefined), [input])
  const [isChecked, setChecked] = useState(false)
  const group = form?._tag === "Group" ? form : undefined
  const current = draft ?? (group && initialDraft(group))
  const outcome = group && current && valueOfDraft(group, current)
  const rejected = error === undefined ? new Map<string, string>() : parseAnswerErrors(error.message)
  const problems = new Map([
    ...rejected,
    ...(isChecked ? (outcome?.problems ?? []) : []).map(
      ({ message, path }) => [path.split(/[.[]/, 1)[0] ?? "", message] as const
    )
  ])
  const send = () => {
    setChecked(true)
    if (input.mode === "url") return onAnswer({ action: "allow" })
    if (outcome === undefined || outcome.problems.length > 0 || !isJsonObject(outcome.value)) return
    onAnswer({ action: "allow", content: outcome.value })
  }
  const common = { tool, isSteady, isBlocked: isSending }
  const canAnswer = input.mode === "url" || group !== undefined
  const general = problems.get("")
  return (
    <form
      class="answers"
      autocomplete="off"
      noValidate
      onSubmit={(event: TargetedSubmitEvent<HTMLFormElement>) => event.preventDefault()}
    >
      <h3>Question of the MCP server</h3>
      <LongText text={input.message} />
      {input.mode === "url" && <PageLink url={input.url} />}
      {group !== undefined && current !== undefined && (
        <GroupFields field={group} draft={current} onChange={onDraft} problems={problems} />
      )}
      {!canAnswer && <p class="error">This page cannot show the form of the question.</p>}
      {problems.size > 0 && (
        <p class="error" role="alert">
          <Name of={general ?? "The answer does not fit the form."} length={1_000} />
        </p>
      )}
      <div class="field">
        {canAnswer && (
          <AnswerButton
            {...common}
            kind="primary"
            label={input.mode === "url" ? "I opened the page" : "Send"}
            type="submit"
            onPress={send}
          />
        )}
        <AnswerButton {...common} kind="danger" label="Decline" onPress={() => onAnswer({ action: "deny" })} />
        <AnswerButton {...common} label="Close" onPress={() => onAnswer({ action: "cancel" })} />
      </div>
    </form>
  )
}
