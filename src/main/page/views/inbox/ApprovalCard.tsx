import type { RefObject } from "preact"
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { isOpen, type ListedApproval } from "../../../../domain/page/calls/openApprovals.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { PageError } from "../../../../domain/page/PageCommand.ts"
import { sendCommand, useAction, useReplies } from "../../connection/api.ts"
import { currentOffice, pageState, session, useServerTime } from "../../connection/store.ts"
import { SmallButton } from "../../parts/controls.tsx"
import { ErrorText } from "../../parts/missing.tsx"
import { Facts } from "../../parts/Table.tsx"
import { LongText, Name, formatClock, formatDateTime } from "../../parts/Text.tsx"
import { type Answer, ApprovalActions, type ApprovalActionsProps, QuestionForm } from "./ApprovalActions.tsx"
import type { ApprovalView } from "../../../../domain/approvals/ApprovalView.ts"
import { describeFailure, describeStatus, phaseOf } from "../../../../domain/page/calls/callPhase.ts"
import type { PageCall } from "../../../../domain/page/PageEvent.ts"
import { ApprovalDetails } from "./ToolChange.tsx"

/** States the decision that the Computer has confirmed. */
const describeDecision = ({ decidedBy, denialReason, input, scope, state, until }: ApprovalView): string => {
  const by = decidedBy === undefined ? "" : ` by ${decidedBy}`
  if (input !== undefined && state === "allowed") return `answered${by}`
  if (input !== undefined && state === "denied") return `not answered: declined or closed${by}`
  if (state === "denied") return `denied${by}${denialReason === undefined ? "" : `: ${denialReason}`}`
  if (state !== "allowed") return state
  if (scope !== "tool") return `allowed once${by}`
  const end = until === undefined ? "until it is revoked" : `until ${formatDateTime(until)}`
  return `this tool is allowed in this office${by}, ${end}`
}

/** States how the wait of a call ended, as far as the page has seen it. */
const describeEnd = (call: PageCall): string => {
  if (call.status?._tag === "Decided") return describeStatus(call.status)
  if (call.decision !== undefined) return describeStatus(call.decision)
  if (call.endedAt === undefined) return "the call does not wait for this approval any more"
  if (phaseOf(call) === "cancelled") return "the call was cancelled before a decision"
  const failure = describeFailure(call)
  return `the call ended without a decision${failure === "" ? "" : `: ${failure}`}`
}

/** True when the operator may decide: the Computer lets operators, or its MCP server asks about a call of this operator. */
export const canDecide = ({ approval, call }: ListedApproval): boolean => {
  const isCaller = call.agent === `operator:${session.value?.subject ?? ""}`
  if (approval.isQuestion === true && isCaller && session.value?.mayCall === true) return true
  return currentOffice(call).computers.some(({ features, name }) => name === call.computer && features.approvals)
}

/** How long buttons must have stood still before they take a click, in milliseconds. */
const steadyMillis = 500

/** False for a moment after the size of an element has changed: what it contains may have moved under the pointer. */
const useSteady = (element: RefObject<HTMLElement | null>): boolean => {
  const [isSteady, setSteady] = useState(false)
  useEffect(() => {
    if (element.current === null) return undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const observer = new ResizeObserver(() => {
      setSteady(false)
      clearTimeout(timer)
      timer = setTimeout(() => setSteady(true), steadyMillis)
    })
    observer.observe(element.current)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
    }
  }, [])
  return isSteady
}

/** A shorter time before the end is highlighted, in milliseconds. */
const urgentMillis = 30_000

/** An answer was too late: the approval has ended, or another approver was faster. */
const isFinal = (error: PageError | undefined): error is PageError => error?.code === 404 || error?.code === 409

/** Counts down from the time that the reply states, which depends on no clock. */
const TimeLeft = ({ expiresIn }: { readonly expiresIn: number }) => {
  const receivedAt = useMemo(() => performance.now(), [expiresIn])
  useServerTime(1_000)
  const left = expiresIn - (performance.now() - receivedAt)
  return (
    <span class={left < urgentMillis ? "bad" : "waiting"}>
      {left > 0 ? `expires in ${formatDuration(Math.ceil(left / 1_000) * 1_000)}` : "the time is over"}
    </span>
  )
}

interface ApprovalFactsProps extends Pick<ApprovalCardProps, "entry"> {
  readonly view?: ApprovalView | undefined
}

const ApprovalFacts = ({ entry: { approval, call }, view }: ApprovalFactsProps) => (
  <Facts
    isRow
    facts={[
      ["Agent", <Name of={call.agent} />],
      ["Computer", <Name of={call.computer} />],
      ["MCP server", <Name of={approval.server} />],
      ["Called at", formatClock(call.startedAt)],
      ["Asked by", view && (view.askedBy === "default" ? "no rule allows it" : <Name of={view.askedBy} />)],
      ["Reason", view?.reason === undefined ? undefined : <LongText text={view.reason} />]
    ]}
  />
)

interface AnswerableProps extends Omit<ApprovalActionsProps, "tool">, Pick<ApprovalCardProps, "entry"> {}

/** The details of an approval, and the answers, which need the details. */
const AnswerableApproval = ({ entry, error: answerError, ...answering }: AnswerableProps) => {
  const { approval, call } = entry
  const actions = { ...answering, tool: approval.tool }
  const [attempt, setAttempt] = useState(0)
  // Here, so that what the user has entered outlives a failed request for the details.
  const [value, setValue] = useState<unknown>()
  const { computer, line, office } = call
  const command = { _tag: "GetApproval", line, office, computer, id: approval.id } as const
  const wanted = { version: `${pageState.value.stream ?? ""} ${attempt}`, command }
  const { error, reply } = useReplies<"GetApproval">([wanted])(command)
  return (
    <>
      {reply !== undefined && (
        <p>
          <TimeLeft expiresIn={reply.expiresIn} />
        </p>
      )}
      <ApprovalFacts entry={entry} view={reply} />
      {error !== undefined && (
        <>
          <ErrorText error={error} isAlert />
          <SmallButton onPress={() => setAttempt(attempt + 1)}>Try again</SmallButton>
        </>
      )}
      {reply?.input !== undefined && (
        <QuestionForm {...actions} input={reply.input} value={value} onChange={setValue} error={answerError} />
      )}
      {reply !== undefined && <ApprovalDetails view={reply} />}
      {reply !== undefined && reply.input === undefined && <ApprovalActions {...actions} error={answerError} />}
      {reply === undefined && error === undefined && <p class="note">loading</p>}
    </>
  )
}

interface ApprovalCardProps {
  readonly entry: ListedApproval
  readonly isSteady: boolean
}

/** A call that waits for an approval, then its outcome in a line. */
const ApprovalCard = ({ entry, isSteady }: ApprovalCardProps) => {
  const { approval, call } = entry
  const id = useId()
  const card = useRef<HTMLElement>(null)
  const end = useRef<HTMLParagraphElement>(null)
  const { error, isRunning, reply: decided, run } = useAction<ApprovalView>()
  const isClosed = !isOpen(entry) || decided !== undefined || isFinal(error)
  const outcome = isFinal(error) ? error.message : decided === undefined ? describeEnd(call) : describeDecision(decided)

  // The focus would leave the card with the buttons.
  const hadFocus = card.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    if (isClosed && hadFocus) end.current?.focus()
  }, [isClosed])

  const answer = (given: Answer): void => {
    const { computer, line, office } = call
    run(() => sendCommand({ _tag: "DecideApproval", line, office, computer, id: approval.id, ...given }))
  }

  return (
    <article ref={card} class="card approval" aria-labelledby={id}>
      <h2 id={id}>
        <Name of={approval.tool} />
        {approval.isQuestion === true && <span class="note"> asks a question</span>}
      </h2>
      {isClosed ? (
        <p ref={end} tabIndex={-1}>
          <span {...(isFinal(error) && { class: "error", role: "alert" as const })}>
            <Name of={outcome} length={1_000} />
          </span>{" "}
          <span class="note">
            <Name of={call.agent} /> at <Name of={call.computer} />
          </span>
        </p>
      ) : canDecide(entry) ? (
        <AnswerableApproval entry={entry} error={error} isBlocked={isRunning} isSteady={isSteady} onAnswer={answer} />
      ) : (
        <>
          <ApprovalFacts entry={entry} />
          <p class="note">
            The owner of this Computer does not let operators decide.{" "}
            <code>a2c computer --approvers terminal,page</code>
            lets them.
          </p>
        </>
      )}
    </article>
  )
}

export const ApprovalCards = ({ entries }: { readonly entries: ReadonlyArray<ListedApproval> }) => {
  const box = useRef<HTMLDivElement>(null)
  const isSteady = useSteady(box)
  return (
    <div ref={box}>
      {entries.map((entry) => (
        <ApprovalCard key={entry.key} entry={entry} isSteady={isSteady} />
      ))}
    </div>
  )
}
