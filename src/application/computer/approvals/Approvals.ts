import { Cause, Clock, Deferred, Duration, Effect, Exit, type Scope, Stream, SubscriptionRef } from "effect"
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalDecision,
  type DecidedApproval,
  formatAnswerErrors,
  formatDecision,
  fromInputAnswer,
  maxContentLength,
  type Question,
  toDecision,
  toInputAnswer
} from "../../../domain/approvals/Approval.ts"
import { answerFormatProblems } from "../../../domain/approvals/answerFormats.ts"
import { type CallPlace, coversCall, isExpired } from "../../../domain/approvals/grants.ts"
import { sha256Hex } from "../../../domain/tools/toolPins.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import { canonicalJson, findRoundedIntegers, roundedIntegersProblem } from "../../../domain/json.ts"
import { type Approver, approverName, callerName } from "../../../domain/approvals/Caller.ts"
import type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
import { badRequest, conflict, notFound, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import type { ApprovalStore } from "../../ports/approvals/ApprovalStore.ts"
import { SchemaValidator } from "../../ports/SchemaValidator.ts"
import { askUntilValid, isInvalidAnswer } from "../../shared/questions/askUntilValid.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { type ApprovalMemory, makeApprovalMemory } from "./approvalMemory.ts"

/** Decided approvals that are kept, the latest ones, to tell a late approver who decided. */
const maxDecided = 100

/** Who decides for the hook `confirm` when its answer does not say so. */
const hookApprover = "program"

/** A call that needs an approval. */
export interface ApprovalRequest extends Pick<Approval, "reqId" | "caller" | "params" | "askedBy"> {
  readonly entry: CatalogueEntry
  readonly config: ServerConfig | undefined
  readonly place: CallPlace | undefined
  readonly reason: string | undefined
}

/** A question of the MCP server of a call. */
interface QuestionRequest extends Omit<ApprovalRequest, "askedBy" | "reason"> {
  readonly input: InputRequest
  /** Answers beside the hook of the settings, by this name. */
  readonly responder?: QuestionResponder | undefined
}

interface QuestionResponder {
  readonly by: string
  readonly answer: (question: Question) => Effect.Effect<InputAnswer & { readonly by?: string }, unknown>
}

/** How long an approval may wait. */
interface WaitLimit {
  /** The wait at most, while the caller does not wait longer. */
  readonly limit: Duration.Duration
  /** The wait at most, when it does; the approval timeout by default. */
  readonly extended?: Duration.Duration
  /** Tells the caller that the call waits. True when the caller waits for the whole approval timeout. */
  readonly announce: (approval: Approval) => Effect.Effect<boolean>
}

interface OpenApproval {
  approval: Approval
  readonly entry: CatalogueEntry
  readonly config: ServerConfig | undefined
  readonly outcome: Deferred.Deferred<Outcome>
  isDecided: boolean
}

/** How an approval ended. The content of an answer is kept nowhere else. */
interface Outcome {
  readonly decision: ApprovalDecision
  /** Missing when it ended without one. */
  readonly answer?: ApprovalAnswer
}

/** The state of an approval: open, or decided. */
interface FoundApproval {
  readonly approval: Approval
  /** Missing while it is open. */
  readonly decision: ApprovalDecision | undefined
}

export interface Approvals
  extends Pick<ApprovalMemory, "grants" | "revoke" | "grantFor" | "digestOf" | "endAgentGrants"> {
  /** Waits for the decision about a call. Interruption cancels the approval. */
  readonly request: (request: ApprovalRequest, wait: WaitLimit) => Effect.Effect<ApprovalDecision>
  /** Waits for the answer to a question, as `request` does. A question that expires is cancelled. */
  readonly ask: (
    request: QuestionRequest,
    wait: WaitLimit
  ) => Effect.Effect<{ readonly decision: ApprovalDecision; readonly answer: InputAnswer }>
  /**
   * Decides an open approval. The first answer counts: a later one fails with 409, and one for an unknown approval with
   * 404. An `until` that has passed fails with 400, and so does an answer that does not fit its question.
   */
  readonly decide: (
    id: string,
    answer: ApprovalAnswer,
    approver: Approver
  ) => Effect.Effect<ApprovalDecision, ProtocolError>
  readonly find: (id: string) => FoundApproval | undefined
  /** The open approvals, the oldest one first. */
  readonly open: () => ReadonlyArray<Approval>
  /** The open approvals now, then with every change. */
  readonly changes: Stream.Stream<ReadonlyArray<Approval>>
  /** The latest decided approvals, the oldest one first. */
  readonly decided: () => ReadonlyArray<DecidedApproval>
  /** True when an approver other than the hook can answer, or the hook. */
  readonly canAsk: boolean
}

/** What asks instead of a rule. */
const askedByServer = "MCP server"

const isQuestion = (approval: Approval): approval is Question => approval.input !== undefined

/** Lets approvers decide about calls and answer questions, and keeps what they allow. Open approvals end with the scope. */
export const makeApprovals = Effect.fnUntraced(function* (
  computer: string
): Effect.fn.Return<Approvals, never, Scope.Scope | ApprovalStore | SchemaValidator> {
  const { approvalTimeout, approvers, confirm, onInput } = yield* ComputerSettings
  const clock = yield* Clock.Clock
  const validator = yield* SchemaValidator
  const memory = yield* makeApprovalMemory(computer)
  const open = yield* SubscriptionRef.make<ReadonlyArray<OpenApproval>>([])
  let decided: ReadonlyArray<DecidedApproval> = []
  const now = () => clock.currentTimeMillisUnsafe()
  const openNow = () => SubscriptionRef.getUnsafe(open)

  /** Decides an approval unless it has a decision. The decision interrupts the hook, or the timer, that settles it. */
  const settle = (one: OpenApproval, decision: ApprovalDecision, answer?: ApprovalAnswer): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (one.isDecided) return Effect.succeed(false)
      one.isDecided = true
      const { approval } = one
      decided = [...decided, { approval, decision }].slice(-maxDecided)
      Deferred.doneUnsafe(one.outcome, Exit.succeed({ decision, ...definedOnly({ answer }) }))
      return Effect.as(
        SubscriptionRef.update(open, (all) => all.filter((other) => other !== one)),
        true
      )
    }).pipe(Effect.uninterruptible)

  /** Fails when an answer does not fit its question. */
  const checkAnswer = Effect.fnUntraced(function* (
    input: InputRequest,
    answer: ApprovalAnswer
  ): Effect.fn.Return<void, ProtocolError> {
    if (answer.action !== "allow") return
    if (answer.scope === "tool") return yield* badRequest("A question is answered once: its answer has no scope")
    if (input.mode === "url") return
    const { content } = answer
    if (content === undefined) return yield* badRequest("The answer to a question has the content of its form")
    if (JSON.stringify(content).length > maxContentLength) {
      return yield* badRequest(`The content of an answer has at most ${maxContentLength} characters`)
    }
    const rounded = findRoundedIntegers(content).map((pointer) => `${pointer}: ${roundedIntegersProblem}`)
    if (rounded.length > 0) return yield* badRequest(formatAnswerErrors(rounded))
    const formatProblems = answerFormatProblems(input.schema, content)
    if (formatProblems.length > 0) return yield* badRequest(formatAnswerErrors(formatProblems))
    const errors = yield* Effect.catch(validator.check(input.schema, content), ({ message: reason }) =>
      Effect.as(Effect.logWarning("schema of a question invalid, its answer not validated", { reason }), [])
    )
    if (errors.length > 0) return yield* badRequest(formatAnswerErrors(errors))
  })

  // Uninterruptible: a decision interrupts the hook that made it, and a closing connection the request of an Agent.
  const decide: Approvals["decide"] = Effect.fnUntraced(function* (id, answer, approver) {
    const at = now()
    const by = approverName(approver)
    if (answer.action === "allow" && answer.scope === "tool" && isExpired(answer, at)) {
      return yield* badRequest("The time until which the tool is allowed has passed")
    }
    const one = openNow().find(({ approval }) => approval.id === id)
    if (one?.approval.input !== undefined) yield* checkAnswer(one.approval.input, answer)
    const decision = toDecision(answer, by, at)
    if (one === undefined || !(yield* settle(one, decision, answer))) {
      const past = decided.find(({ approval }) => approval.id === id)
      if (past === undefined) return yield* notFound("The approval is not open any more")
      const what = isQuestion(past.approval) ? "question" : "approval"
      return yield* conflict(`The ${what} was ${formatDecision(past.decision, past.approval)}`)
    }
    if (answer.action !== "allow" || isQuestion(one.approval)) return decision
    memory.remember(one, by)
    if (answer.scope === "tool") {
      const { line, office, server, tool, toolDigest } = one.approval
      const { until } = answer
      const given = { by, approver: approver._tag, at, ...definedOnly({ office, line, until }) }
      // A task may be held by a later membership than the one that called.
      const caller = approver._tag === "agent" ? approver.caller : one.approval.caller
      const grant = { id, server, tool, toolDigest, caller, ...given }
      memory.grant(grant)
      yield* Effect.forEach(
        openNow().filter(({ approval }) => !isQuestion(approval) && coversCall(grant, approval)),
        (other) => settle(other, decision),
        { discard: true }
      )
    }
    yield* memory.save
    return decision
  }, Effect.uninterruptible)

  /** Asks the hook of the host, whose failure is no consent. */
  const askHook = (approval: Approval): Effect.Effect<never> => {
    if (confirm === undefined) return Effect.never
    const asked = Effect.catchCause(
      Effect.suspend(() => confirm(approval)),
      (cause) =>
        Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logWarning("confirmation failed", { tool: approval.tool }, cause), false)
    )
    return asked.pipe(
      Effect.flatMap((given) => {
        const answer: ApprovalAnswer & { readonly by?: string } =
          typeof given !== "boolean" ? given : given ? { action: "allow", scope: "once" } : { action: "deny" }
        return Effect.ignore(decide(approval.id, answer, { _tag: "owner", name: answer.by ?? hookApprover }))
      }),
      Effect.andThen(Effect.never)
    )
  }

  /** Asks a responder of a question. Its failure closes the question. */
  const askResponder = (question: Question, { answer: ask, by: name }: QuestionResponder): Effect.Effect<never> => {
    const asked = (input: InputRequest) =>
      Effect.catchCause(
        Effect.suspend(() => ask({ ...question, input })),
        (cause) =>
          Cause.hasInterruptsOnly(cause)
            ? Effect.interrupt
            : Effect.as(Effect.logWarning("question not answered", { tool: question.tool }, cause), {
                action: "cancel" as const
              })
      )
    const submit = ({ by = name, ...answer }: InputAnswer & { readonly by?: string }) =>
      decide(question.id, fromInputAnswer(answer), { _tag: "owner", name: by })
    return Effect.andThen(Effect.ignore(askUntilValid(question.input, asked, submit, isInvalidAnswer)), Effect.never)
  }

  /** What every approval states about its call. */
  const describe = Effect.fnUntraced(function* (
    { caller, config, entry, params, place, reqId }: Omit<ApprovalRequest, "askedBy" | "reason">,
    limit: Duration.Duration
  ) {
    const requestedAt = now()
    return {
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
      toolDigest: memory.digestOf(entry, config),
      requestedAt,
      expiresAt: requestedAt + Duration.toMillis(Duration.min(limit, approvalTimeout)),
      ...definedOnly({ office: place?.office, line: place?.line })
    }
  })

  /** Waits for the outcome of an approval, which the hooks and approvers decide. */
  const waitFor = (
    approval: Approval,
    { config, entry }: Pick<OpenApproval, "config" | "entry">,
    { announce, extended = approvalTimeout }: WaitLimit,
    hooks: ReadonlyArray<Effect.Effect<never>>
  ): Effect.Effect<Outcome> => {
    const { requestedAt } = approval
    const one: OpenApproval = { approval, entry, config, outcome: Deferred.makeUnsafe(), isDecided: false }

    const announceWait = Effect.gen(function* () {
      if (yield* announce(approval)) {
        const expiresAt = requestedAt + Duration.toMillis(extended)
        one.approval = { ...approval, expiresAt }
        yield* SubscriptionRef.update(open, (all) => [...all])
      }
      return yield* Effect.never
    })
    const expire = Effect.gen(function* () {
      for (let left = one.approval.expiresAt - now(); left > 0; left = one.approval.expiresAt - now()) {
        yield* Effect.sleep(Duration.millis(left))
      }
      yield* settle(one, { state: "expired", at: now() })
      return yield* Effect.never
    })
    return Effect.acquireUseRelease(
      SubscriptionRef.update(open, (all) => [...all, one]),
      () => Effect.raceAllFirst([Deferred.await(one.outcome), ...hooks, announceWait, expire]),
      () => settle(one, { state: "cancelled", at: now() })
    )
  }

  const request: Approvals["request"] = Effect.fnUntraced(function* (asked, wait) {
    const { askedBy, config, entry, reason } = asked
    const approval: Approval = {
      ...(yield* describe(asked, wait.limit)),
      askedBy,
      ...definedOnly({
        reason,
        change: memory.changeOf(entry, config),
        ...memory.previousOf(entry)
      })
    }
    return (yield* waitFor(approval, asked, wait, [askHook(approval)])).decision
  })

  const ask: Approvals["ask"] = Effect.fnUntraced(function* (asked, wait) {
    const { input, responder } = asked
    const question: Question = { ...(yield* describe(asked, wait.limit)), askedBy: askedByServer, input }
    const responders = [responder, onInput && { by: hookApprover, answer: onInput }].filter((one) => one !== undefined)
    const hooks = responders.map((one) => askResponder(question, one))
    const { answer = { action: "cancel" }, decision } = yield* waitFor(question, asked, wait, hooks)
    return { decision, answer: toInputAnswer(answer, input) }
  })

  return {
    request,
    ask,
    decide,
    find: (id) => {
      const one = openNow().find(({ approval }) => approval.id === id)
      if (one !== undefined) return { approval: one.approval, decision: undefined }
      return decided.find(({ approval }) => approval.id === id)
    },
    open: () => openNow().map(({ approval }) => approval),
    changes: Stream.map(SubscriptionRef.changes(open), (all) => all.map(({ approval }) => approval)),
    decided: () => decided,
    grants: memory.grants,
    revoke: memory.revoke,
    grantFor: memory.grantFor,
    digestOf: memory.digestOf,
    endAgentGrants: memory.endAgentGrants,
    canAsk: confirm !== undefined || approvers.length > 0
  }
})
