import { Duration, Effect } from "effect"
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalDecision,
  fromInputAnswer,
  isElicitation,
  type Question,
  toInputAnswer
} from "../../../domain/approvals/Approval.ts"
import { elicitationProblem, findOpen, previousCallOf } from "../../../domain/approvals/approvalsState.ts"
import { type Approver, type Caller, callerName } from "../../../domain/approvals/Caller.ts"
import { type CallPlace, coversCall, type Grant } from "../../../domain/approvals/standingApprovals.ts"
import { canonicalJson } from "../../../domain/json.ts"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { computeOnce, definedOnly } from "../../../domain/objects.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { findPin, findToolChange, makePinnedDefinition, sha256Hex } from "../../../domain/tools/toolPins.ts"
import { SchemaValidator } from "../../ports/SchemaValidator.ts"
import { answerOr, askUntilValid } from "../../shared/questions/askUntilValid.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { type ApprovalBook, makeApprovalBook, waitForOutcome, type WaitLimit } from "./approvalBook.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/** Who decides for the hook `confirm` when its answer does not say so. */
const hookApprover = "program"

interface ElicitationResponder {
  readonly by: string
  readonly answer: (question: Question) => Effect.Effect<Answered<InputAnswer>, unknown>
}

/** A call that needs an approval. */
export interface ApprovalRequest extends Pick<Approval, "reqId" | "caller" | "params" | "askedBy"> {
  readonly entry: CatalogueEntry
  readonly place: CallPlace | undefined
  readonly reason?: string | undefined
  /** What to answer instead of consent. */
  readonly elicitation?: InputRequest
  /** Answers the elicitation beside the hook of the settings, by its name. */
  readonly responder?: ElicitationResponder | undefined
}

type Answered<A> = A & { readonly by?: string }

type Decide = (id: string, answer: ApprovalAnswer, approver: Approver) => Effect.Effect<ApprovalDecision, ProtocolError>

/** Asks the hook of the host about a call. Its failure is no consent. */
const askHook = (confirm: NonNullable<ComputerSettings["confirm"]>, approval: Approval, decide: Decide) =>
  answerOr(
    Effect.suspend(() => confirm(approval)),
    false,
    (cause) => Effect.logWarning("confirmation failed", { tool: approval.tool }, cause)
  ).pipe(
    Effect.flatMap((confirmation) => {
      const asAnswer: Answered<ApprovalAnswer> = confirmation ? { action: "allow", scope: "once" } : { action: "deny" }
      const { by = hookApprover, ...answer } = typeof confirmation === "boolean" ? asAnswer : confirmation
      return Effect.ignore(decide(approval.id, answer, { _tag: "owner", name: by }))
    }),
    Effect.andThen(Effect.never)
  )

/** Asks a responder for the answer to an elicitation. Its failure closes the elicitation. */
const askResponder = ({ answer: ask, by: name }: ElicitationResponder, question: Question, decide: Decide) => {
  const asking = (input: InputRequest) =>
    answerOr(
      Effect.suspend(() => ask({ ...question, input })),
      { action: "cancel" as const },
      (cause) => Effect.logWarning("question not answered", { tool: question.tool }, cause)
    )
  const submit = ({ by = name, ...answer }: Answered<InputAnswer>) =>
    decide(question.id, fromInputAnswer(answer), { _tag: "owner", name: by })
  return Effect.andThen(Effect.ignore(askUntilValid(question.input, asking, submit)), Effect.never)
}

/** Makes the function that finds what an answer violates in the schema of its elicitation. */
const makeAnswerValidator = Effect.map(
  SchemaValidator,
  (validator) =>
    (asked: Approval | undefined, answer: ApprovalAnswer): Effect.Effect<ReadonlyArray<string>> => {
      const input = asked?.input
      if (input?.mode !== "form" || answer.action !== "allow" || answer.scope === "tool") return Effect.succeed([])
      if (answer.content === undefined || elicitationProblem(input, answer) !== undefined) return Effect.succeed([])
      return Effect.catch(validator.check(input.schema, answer.content), ({ message: reason }) =>
        Effect.as(Effect.logWarning("schema of a question invalid, its answer not validated", { reason }), [])
      )
    }
)

/** Makes the function that describes a call to its approvers, with the definition of its tool. */
const makeDescription = (
  computer: ComputerName,
  approvalTimeout: Duration.Duration,
  { now, state }: ApprovalBook,
  definitionOf: (entry: CatalogueEntry) => ReturnType<typeof makePinnedDefinition>
) =>
  Effect.fnUntraced(function* (request: ApprovalRequest, limit: Duration.Duration) {
    const { caller, elicitation: input, entry, params, place, reason, reqId, askedBy } = request
    const { definition, digest: toolDigest } = definitionOf(entry)
    const requestedAt = now()
    const approval: Approval = {
      id: yield* makeRequestId,
      reqId,
      computer,
      server: entry.server,
      tool: entry.tool.name,
      shortName: entry.shortName,
      caller,
      requester: callerName(caller),
      params,
      argumentsDigest: sha256Hex(canonicalJson(params)),
      toolDigest,
      requestedAt,
      expiresAt: requestedAt + Duration.toMillis(Duration.min(limit, approvalTimeout)),
      askedBy,
      ...definedOnly({ office: place?.office, line: place?.line, reason, input }),
      ...(input === undefined && {
        ...definedOnly({
          change: findToolChange(findPin(state().stored.pins, entry, definition), toolDigest, definition)
        }),
        ...previousCallOf(state(), entry)
      })
    }
    return { approval, definition, originalName: entry.originalName }
  })

export type Approvals = Effect.Success<ReturnType<typeof makeApprovals>>

/** Lets approvers decide about calls and answer elicitations, and keeps what they allow. Open approvals end with the scope. */
export const makeApprovals = Effect.fnUntraced(function* (
  computer: ComputerName,
  servers: Pick<ServerSupervisor, "find">
) {
  const { approvalTimeout, approvers, confirm, onInput } = yield* ComputerSettings
  const book = yield* makeApprovalBook(computer)
  const { dispatch, now, standing, state } = book
  const findViolations = yield* makeAnswerValidator
  const definitionOf = computeOnce((entry: CatalogueEntry) =>
    makePinnedDefinition(entry, servers.find(entry.server)?.config, book.configSource)
  )
  const describe = makeDescription(computer, approvalTimeout, book, definitionOf)

  // Uninterruptible: a decision interrupts the hook that made it, and a closing connection the request of an Agent.
  const decide: Decide = Effect.fnUntraced(function* (id, answer, approver) {
    const violations = yield* findViolations(findOpen(state(), id)?.approval, answer)
    for (const command of yield* dispatch({ _tag: "Answered", id, answer, approver, violations, at: now() })) {
      if (command._tag === "Reject") return yield* command.error
      if (command._tag === "End") return command.decision
    }
    return yield* Effect.die("an answer has an outcome")
  }, Effect.uninterruptible)

  return {
    ...book,
    /**
     * Waits for the decision about a call, or for the answer to its elicitation, which is cancelled when it expires.
     * Interruption cancels the approval.
     */
    request: Effect.fnUntraced(function* (request: ApprovalRequest, wait: WaitLimit) {
      const pending = yield* describe(request, wait.limit)
      const { approval } = pending
      const responders = [request.responder, onInput && { by: hookApprover, answer: onInput }]
      const hooks = isElicitation(approval)
        ? responders.flatMap((one) => (one === undefined ? [] : [askResponder(one, approval, decide)]))
        : confirm === undefined
          ? []
          : [askHook(confirm, approval, decide)]
      const limit = { extended: approvalTimeout, ...wait }
      const { answer = { action: "cancel" }, decision } = yield* waitForOutcome(book, pending, limit, hooks)
      return { approval, decision, answer: approval.input && toInputAnswer(answer, approval.input) }
    }),
    /**
     * Decides an open approval. The first answer counts: a later one fails with 409, and one for an unknown approval with
     * 404. An `until` that has passed fails with 400, and so does an answer that does not fit its elicitation.
     */
    decide,
    /** The standing approval that covers a call of a tool. */
    standingFor: (
      entry: CatalogueEntry,
      { caller, place }: { readonly caller: Caller; readonly place: CallPlace | undefined }
    ): Grant | undefined => {
      if (state().stored.grants.length === 0) return undefined
      const call = { toolDigest: definitionOf(entry).digest, caller, ...place }
      return standing().find((one) => coversCall(one, call))
    },
    /** Identifies a tool with its definition and its MCP server. */
    digestOf: (entry: CatalogueEntry): string => definitionOf(entry).digest,
    /** True when an approver other than the hook can answer, or the hook. */
    canAsk: confirm !== undefined || approvers.length > 0
  }
})
