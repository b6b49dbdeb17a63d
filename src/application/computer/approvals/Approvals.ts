import {
  Cause,
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  Option,
  type Scope,
  Semaphore,
  Stream,
  SubscriptionRef
} from "effect"
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalDecision,
  type DecidedApproval,
  formatDecision,
  toDecision
} from "../../../domain/approvals/Approval.ts"
import {
  addGrant,
  type CallPlace,
  coversApproval,
  findGrant,
  type Grant,
  isExpired
} from "../../../domain/approvals/grants.ts"
import { noApprovals, type StoredApprovals } from "../../../domain/approvals/StoredApprovals.ts"
import { addPin, defineTool, findPin, findToolChange, sha256Hex } from "../../../domain/approvals/toolPins.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import { canonicalJson, type JsonObject } from "../../../domain/json.ts"
import { badRequest, notFound, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { ApprovalStore } from "../../ports/approvals/ApprovalStore.ts"
import { makeRequestId } from "../../shared/tracing.ts"
import { ComputerSettings } from "../ComputerSettings.ts"

/** The HTTP status of an answer to an approval that has a decision. */
const conflictCode = 409

/** Decided approvals that are kept, the latest ones, to tell a late approver who decided. */
const maxDecided = 100

/** Tools whose last approved arguments are kept, and the characters of the arguments of one. */
const maxPreviousParams = 100
const maxPreviousLength = 64 * 1024

/** Who decides for the hook `confirm` when its answer does not say so. */
const hookApprover = "program"

/** A call that needs an approval. */
export interface ApprovalRequest extends Pick<Approval, "reqId" | "requester" | "params" | "askedBy"> {
  readonly entry: CatalogueEntry
  readonly config: ServerConfig | undefined
  readonly place: CallPlace | undefined
  readonly reason: string | undefined
}

/** How long an approval may wait. */
interface WaitLimit {
  /** The wait at most, while the caller does not wait longer. */
  readonly limit: Duration.Duration
  /** Tells the caller that the call waits. True when the caller waits for the whole approval timeout. */
  readonly announce: (approval: Approval) => Effect.Effect<boolean>
}

interface OpenApproval {
  approval: Approval
  readonly entry: CatalogueEntry
  readonly config: ServerConfig | undefined
  readonly decision: Deferred.Deferred<ApprovalDecision>
  isDecided: boolean
}

/** The state of an approval: open, or decided. */
interface FoundApproval {
  readonly approval: Approval
  /** Missing while it is open. */
  readonly decision: ApprovalDecision | undefined
}

export interface Approvals {
  /** Waits for the decision about a call. Interruption cancels the approval. */
  readonly request: (request: ApprovalRequest, wait: WaitLimit) => Effect.Effect<ApprovalDecision>
  /**
   * Decides an open approval. The first answer counts: a later one fails with 409, and one for an unknown approval with
   * 404. An `until` that has passed fails with 400.
   */
  readonly decide: (id: string, answer: ApprovalAnswer, by: string) => Effect.Effect<ApprovalDecision, ProtocolError>
  readonly find: (id: string) => FoundApproval | undefined
  /** The open approvals, the oldest one first. */
  readonly open: () => ReadonlyArray<Approval>
  /** The open approvals now, then with every change. */
  readonly changes: Stream.Stream<ReadonlyArray<Approval>>
  /** The latest decided approvals, the oldest one first. */
  readonly decided: () => ReadonlyArray<DecidedApproval>
  /** The grants that are valid now. */
  readonly grants: () => ReadonlyArray<Grant>
  /** Ends a grant; false when no grant has this id. */
  readonly revoke: (id: string) => Effect.Effect<boolean>
  /** The grant that covers a call of a tool. */
  readonly grantFor: (
    entry: CatalogueEntry,
    config: ServerConfig | undefined,
    place: CallPlace | undefined
  ) => Grant | undefined
  /** Identifies a tool with its definition and its MCP server. */
  readonly digestOf: (entry: CatalogueEntry, config: ServerConfig | undefined) => string
  /** True when an approver other than the hook can answer, or the hook. */
  readonly canAsk: boolean
}

const toolKey = ({ originalName, server }: CatalogueEntry): string => JSON.stringify([server, originalName])

/** Lets approvers decide about calls, and keeps what they allow. Open approvals end with the scope. */
export const makeApprovals = Effect.fnUntraced(function* (
  computer: string
): Effect.fn.Return<Approvals, never, Scope.Scope> {
  const { approvalTimeout, approvers, confirm } = yield* ComputerSettings
  const clock = yield* Clock.Clock
  const store = Option.getOrUndefined(yield* Effect.serviceOption(ApprovalStore))
  const saveLock = yield* Semaphore.make(1)
  const open = yield* SubscriptionRef.make<ReadonlyArray<OpenApproval>>([])
  const definitions = new WeakMap<CatalogueEntry, ReturnType<typeof defineTool>>()
  const previousParams = new Map<string, JsonObject>()
  let decided: ReadonlyArray<DecidedApproval> = []
  /** False after a failed load: what could not be read must not be overwritten. */
  let canSave = store !== undefined

  let stored: StoredApprovals =
    store === undefined
      ? noApprovals
      : yield* Effect.catch(store.load(computer), ({ message: reason }) => {
          canSave = false
          return Effect.as(Effect.logError("stored approvals not loaded", { reason }), noApprovals)
        })

  const now = () => clock.currentTimeMillisUnsafe()
  const openNow = () => SubscriptionRef.getUnsafe(open)

  const define = (entry: CatalogueEntry, config: ServerConfig | undefined) => {
    const known = definitions.get(entry) ?? defineTool(entry, config)
    definitions.set(entry, known)
    return known
  }

  const save = Effect.suspend(() =>
    store === undefined || !canSave
      ? Effect.void
      : Effect.catch(saveLock.withPermit(Effect.suspend(() => store.save(computer, stored))), ({ message: reason }) =>
          Effect.logError("approvals not saved", { reason })
        )
  )

  /** Decides an approval unless it has a decision. The decision interrupts the hook, or the timer, that settles it. */
  const settle = (one: OpenApproval, decision: ApprovalDecision): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (one.isDecided) return Effect.succeed(false)
      one.isDecided = true
      const { approval } = one
      decided = [...decided, { approval, decision }].slice(-maxDecided)
      Deferred.doneUnsafe(one.decision, Exit.succeed(decision))
      return Effect.as(
        SubscriptionRef.update(open, (all) => all.filter((other) => other !== one)),
        true
      )
    }).pipe(Effect.uninterruptible)

  /** Keeps what a person allowed: the definition of the tool, and the arguments to compare the next call with. */
  const remember = ({ approval, config, entry }: OpenApproval, by: string): void => {
    const { definition, digest } = define(entry, config)
    const { originalName: tool, server } = entry
    stored = { ...stored, pins: addPin(stored.pins, { server, tool, digest, definition, at: now(), by }) }
    const key = toolKey(entry)
    previousParams.delete(key)
    if (JSON.stringify(approval.params).length > maxPreviousLength) return
    previousParams.set(key, approval.params)
    const [oldest] = previousParams.keys()
    if (previousParams.size > maxPreviousParams && oldest !== undefined) previousParams.delete(oldest)
  }

  // Uninterruptible: a decision interrupts the hook that made it, and a closing connection the request of an Agent.
  const decide: Approvals["decide"] = Effect.fnUntraced(function* (id, answer, by) {
    const at = now()
    if (answer.action === "allow" && answer.scope === "tool" && isExpired(answer, at)) {
      return yield* badRequest("The time until which the tool is allowed has passed")
    }
    const one = openNow().find(({ approval }) => approval.id === id)
    const decision = toDecision(answer, by, at)
    if (one === undefined || !(yield* settle(one, decision))) {
      const past = decided.find(({ approval }) => approval.id === id)
      return yield* past === undefined
        ? notFound("The approval is not open any more")
        : new ProtocolError({ code: conflictCode, message: `The approval was ${formatDecision(past.decision)}` })
    }
    if (answer.action === "deny") return decision
    remember(one, by)
    if (answer.scope === "tool") {
      const { line, office, server, tool, toolDigest } = one.approval
      const { until } = answer
      const grant = { id, server, tool, toolDigest, by, at, ...definedOnly({ office, line, until }) }
      stored = { ...stored, grants: addGrant(stored.grants, grant, at) }
      yield* Effect.forEach(
        openNow().filter(({ approval }) => coversApproval(grant, approval)),
        (other) => settle(other, decision),
        { discard: true }
      )
    }
    yield* save
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
        return Effect.ignore(decide(approval.id, answer, answer.by ?? hookApprover))
      }),
      Effect.andThen(Effect.never)
    )
  }

  const request: Approvals["request"] = Effect.fnUntraced(function* (asked, { announce, limit }) {
    const { askedBy, config, entry, params, place, reason, reqId, requester } = asked
    const { definition, digest } = define(entry, config)
    const requestedAt = now()
    const approval: Approval = {
      id: yield* makeRequestId,
      reqId,
      computer,
      server: entry.server,
      tool: entry.tool.name,
      shortName: entry.shortName,
      requester,
      params,
      argumentsDigest: sha256Hex(canonicalJson(params)),
      toolDigest: digest,
      requestedAt,
      expiresAt: requestedAt + Duration.toMillis(Duration.min(limit, approvalTimeout)),
      askedBy,
      ...definedOnly({
        office: place?.office,
        line: place?.line,
        reason,
        change: findToolChange(findPin(stored.pins, entry), digest, definition),
        previousParams: previousParams.get(toolKey(entry))
      })
    }
    const one: OpenApproval = { approval, entry, config, decision: Deferred.makeUnsafe(), isDecided: false }

    const announceWait = Effect.gen(function* () {
      if (yield* announce(approval)) {
        const expiresAt = requestedAt + Duration.toMillis(approvalTimeout)
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
    return yield* Effect.acquireUseRelease(
      SubscriptionRef.update(open, (all) => [...all, one]),
      () => Effect.raceAllFirst([Deferred.await(one.decision), askHook(approval), announceWait, expire]),
      () => settle(one, { state: "cancelled", at: now() })
    )
  })

  return {
    request,
    decide,
    find: (id) => {
      const one = openNow().find(({ approval }) => approval.id === id)
      if (one !== undefined) return { approval: one.approval, decision: undefined }
      return decided.find(({ approval }) => approval.id === id)
    },
    open: () => openNow().map(({ approval }) => approval),
    changes: Stream.map(SubscriptionRef.changes(open), (all) => all.map(({ approval }) => approval)),
    decided: () => decided,
    grants: () => stored.grants.filter((grant) => !isExpired(grant, now())),
    revoke: (id) =>
      Effect.suspend(() => {
        const grants = stored.grants.filter((grant) => grant.id !== id)
        if (grants.length === stored.grants.length) return Effect.succeed(false)
        stored = { ...stored, grants }
        return Effect.as(save, true)
      }),
    grantFor: (entry, config, place) =>
      stored.grants.length === 0 ? undefined : findGrant(stored.grants, define(entry, config).digest, place, now()),
    digestOf: (entry, config) => define(entry, config).digest,
    canAsk: confirm !== undefined || approvers.length > 0
  }
})
