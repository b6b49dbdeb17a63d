import type { ComponentChildren } from "preact"
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import type { ListedApproval } from "../../../../domain/page/calls/openApprovals.ts"
import { formatDuration } from "../../../../domain/text/format.ts"
import type { PageError, PageReplies } from "../../../../domain/page/PageCommand.ts"
import { pageErrorOf, sendCommand } from "../../connection/api.ts"
import { pageState } from "../../connection/store.ts"
import { useReplies } from "../../connection/useReplies.ts"
import { LongText, Name } from "../../parts/Text.tsx"
import { formatClock, useServerTime } from "../../parts/time.ts"
import { type Answer, ApprovalActions } from "./ApprovalActions.tsx"
import type { Draft } from "../../../../domain/page/form/formDraft.ts"
import { ApprovalDetails } from "./ApprovalDetails.tsx"
import { describeDecision, describeEnd } from "./describeOutcome.ts"
import { QuestionForm } from "./QuestionForm.tsx"

/** A shorter time before the end is highlighted, in milliseconds. */
const urgentMillis = 30_000

/** An answer was too late: the approval has ended, or another approver was faster. */
const isFinal = (error: PageError | undefined): boolean => error?.code === 404 || error?.code === 409

const Fact = ({ children, name }: { readonly name: string; readonly children: ComponentChildren }) => (
  <div>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
)

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

const Facts = ({
  entry: { approval, call },
  view
}: {
  readonly entry: ListedApproval
  readonly view: PageReplies["GetApproval"] | undefined
}) => (
  <dl class="facts">
    <Fact name="Agent">
      <Name of={call.agent} />
    </Fact>
    <Fact name="Computer">
      <Name of={call.computer} />
    </Fact>
    <Fact name="MCP server">
      <Name of={approval.server} />
    </Fact>
    <Fact name="Called at">{formatClock(call.startedAt)}</Fact>
    {view !== undefined && (
      <Fact name="Asked by">
        <Name of={view.askedBy} />
      </Fact>
    )}
    {view?.reason !== undefined && (
      <Fact name="Reason">
        <LongText text={view.reason} />
      </Fact>
    )}
  </dl>
)

interface AnswerableProps extends Pick<ApprovalCardProps, "entry" | "isSteady"> {
  readonly error: PageError | undefined
  readonly isSending: boolean
  readonly onAnswer: (answer: Answer) => void
}

/** The details of an approval, and the answers, which need the details. */
const AnswerableApproval = ({ entry, error: answerError, isSending, isSteady, onAnswer }: AnswerableProps) => {
  const { approval, call, key } = entry
  const [attempt, setAttempt] = useState(0)
  // Here, so that what the user has entered outlives a failed request for the details.
  const [draft, setDraft] = useState<Draft>()
  const { computer, line, office } = call
  const { error, reply } =
    useReplies<"GetApproval">([
      {
        key,
        version: `${pageState.value.stream ?? ""} ${attempt}`,
        command: { _tag: "GetApproval", line, office, computer, id: approval.id }
      }
    ]).get(key) ?? {}
  return (
    <>
      {reply !== undefined && (
        <p>
          <TimeLeft expiresIn={reply.expiresIn} />
        </p>
      )}
      <Facts entry={entry} view={reply} />
      {error !== undefined && (
        <p>
          <span class="error" role="alert">
            <Name of={error.message} length={1_000} /> ({error.code})
          </span>{" "}
          <button type="button" class="small" onClick={() => setAttempt(attempt + 1)}>
            Try again
          </button>
        </p>
      )}
      {reply?.input !== undefined && (
        <QuestionForm
          input={reply.input}
          tool={approval.tool}
          draft={draft}
          onDraft={setDraft}
          isSending={isSending}
          isSteady={isSteady}
          onAnswer={onAnswer}
          error={answerError}
        />
      )}
      {reply !== undefined && <ApprovalDetails view={reply} />}
      {reply !== undefined && reply.input === undefined && (
        <>
          <ApprovalActions tool={approval.tool} isSending={isSending} isSteady={isSteady} onAnswer={onAnswer}>
            {answerError !== undefined && (
              <p class="error" role="alert">
                <Name of={answerError.message} length={1_000} />
              </p>
            )}
          </ApprovalActions>
        </>
      )}
      {reply === undefined && error === undefined && <p class="note">loading</p>}
    </>
  )
}

interface ApprovalCardProps {
  readonly entry: ListedApproval
  /** The owner of the Computer lets operators decide. */
  readonly canDecide: boolean
  readonly isSteady: boolean
}

/** A call that waits for an approval, then its outcome in a line. */
export const ApprovalCard = ({ canDecide, entry, isSteady }: ApprovalCardProps) => {
  const { approval, call, isOpen } = entry
  const id = useId()
  const card = useRef<HTMLElement>(null)
  const end = useRef<HTMLParagraphElement>(null)
  const [isSending, setSending] = useState(false)
  const [decided, setDecided] = useState<PageReplies["DecideApproval"]>()
  const [error, setError] = useState<PageError>()
  const isClosed = !isOpen || decided !== undefined || isFinal(error)

  // The focus would leave the card with the buttons.
  const hadFocus = card.current?.contains(document.activeElement) === true
  useLayoutEffect(() => {
    if (isClosed && hadFocus) end.current?.focus()
  }, [isClosed])

  const answer = (given: Answer): void => {
    const { computer, line, office } = call
    setSending(true)
    setError(undefined)
    sendCommand({ _tag: "DecideApproval", line, office, computer, id: approval.id, ...given })
      .then(setDecided, (failure: unknown) => setError(pageErrorOf(failure)))
      .finally(() => setSending(false))
  }

  return (
    <article ref={card} class="card approval" aria-labelledby={id}>
      <h2 id={id}>
        <Name of={approval.tool} />
        {approval.isQuestion === true && <span class="note"> asks a question</span>}
      </h2>
      {isClosed ? (
        <p ref={end} tabIndex={-1}>
          {isFinal(error) ? (
            <span class="error" role="alert">
              <Name of={error?.message ?? ""} length={1_000} />
            </span>
          ) : (
            <Name of={decided === undefined ? describeEnd(call) : describeDecision(decided)} length={1_000} />
          )}{" "}
          <span class="note">
            <Name of={call.agent} /> at <Name of={call.computer} />
          </span>
        </p>
      ) : canDecide ? (
        <AnswerableApproval entry={entry} error={error} isSending={isSending} isSteady={isSteady} onAnswer={answer} />
      ) : (
        <>
          <Facts entry={entry} view={undefined} />
          <p class="note">
            The owner of this Computer does not let operators decide. <code>a2c computer --approvers page</code> lets
            them.
          </p>
        </>
      )}
    </article>
  )
}
