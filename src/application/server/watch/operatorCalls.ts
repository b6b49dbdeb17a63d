import { Deferred, Effect, Exit, Fiber, FiberSet, Scope, Equal, Hash, Option, RcMap, Result, Stream } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import { type Body, decodeBody, jsonBody } from "../../ports/Body.ts"
import { type Link, LinkClosed, type Reply, notifyUsing, requestUsing } from "../../ports/Transport.ts"
import { secureRandomHex } from "../../shared/secureRandom.ts"
import type { WatchedServer } from "./WatchedServer.ts"
import { type Operator, type CallAsOperator, operatorNameOf, streamCall } from "../../shared/page/PageSource.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { inputModes } from "../../../domain/model/InputRequest.ts"
import { parseMembershipConflict } from "../../../domain/office/membershipConflict.ts"
import {
  badRequest,
  computerNotFound,
  conflict,
  forbidden,
  ProtocolError,
  shuttingDown,
  unavailable
} from "../../../domain/model/ProtocolError.ts"
import { checkJoinRights } from "../../../domain/office/grants.ts"
import type { PageCallMessage, PageCallRequest } from "../../../domain/page/PageCommand.ts"
import { withNewRequestId } from "../../shared/tracing.ts"
import { decodeReply, findLine } from "./computerRequests.ts"

/** An operator's end of a link in the process of the Server. */
type OperatorLink = Effect.Success<ReturnType<typeof openOperatorLink>>

interface LinkOptions {
  readonly line: ProtocolLine
  readonly auth: JsonObject
  readonly operator: Operator
  readonly onNotification: (event: string, body: Body) => void
}

/** Connects an operator to the Server, as long as the scope. The Server handles it as a client of a transport. */
export const openOperatorLink = Effect.fnUntraced(function* (
  { acceptConnection }: Pick<WatchedServer, "acceptConnection">,
  { auth, line, onNotification, operator }: LinkOptions
) {
  const closed = yield* Deferred.make<string>()
  const linkScope = yield* Scope.fork(yield* Effect.scope)
  /** The first reason counts. */
  const close = (reason: string): Effect.Effect<void> =>
    Effect.andThen(Deferred.succeed(closed, reason), Scope.close(linkScope, Exit.void))
  const run = yield* Scope.provide(FiberSet.makeRuntime<never>(), linkScope)
  // The Server sends no requests to an Agent, except the notice of a takeover.
  const startRequest: Link["startRequest"] = (event, body, _timeout, onReply) => {
    onNotification(event, body)
    const fiber = run(Effect.map(Effect.yieldNow, () => onReply(Exit.succeed([]))))
    return () => fiber.interruptUnsafe()
  }

  const post: Link["post"] = (event, body) => {
    onNotification(event, body)
    return undefined
  }

  const link: Link = {
    id: `operator-${secureRandomHex(8)}`,
    request: requestUsing(startRequest),
    startRequest,
    notify: notifyUsing(post),
    post,
    maxBytes: () => Number.POSITIVE_INFINITY,
    fits: () => true,
    backlog: () => 0,
    sentBytes: () => 0,
    pauseReading: () => undefined,
    closed: Deferred.await(closed),
    close
  }
  const { identity, remoteAddress } = operator
  const handshake = { version: line.version, auth, headers: {}, remoteAddress }
  const handle = yield* acceptConnection(link, handshake, identity).pipe(
    Scope.provide(linkScope),
    Effect.onError(() => close("admission_rejected"))
  )
  yield* Effect.addFinalizer(() => close("client_disconnect"))

  return {
    id: link.id,
    /** Sends a request as any other client. Interruption ends it at the Server, as the loss of a connection does. */
    request: (event: string, body: Body): Effect.Effect<Reply, LinkClosed> =>
      Effect.gen(function* () {
        // The scope ends what was forked last first: the requests, then the session.
        const fiber = yield* Effect.forkIn(handle(event, body), linkScope, { startImmediately: true })
        const exit = yield* Effect.onInterrupt(Fiber.await(fiber), () => Fiber.interrupt(fiber))
        if (Exit.isSuccess(exit)) return exit.value
        const isClosed = yield* Deferred.isDone(closed)
        return yield* new LinkClosed({ reason: isClosed ? yield* Deferred.await(closed) : "request ended" })
      })
  }
})

/** How an operator calls: as the Agent of an office that has none, or beside its Agent. */
type MembershipKind = Extract<PageCallMessage, { readonly _tag: "Started" }>["as"]

/** Sends a call over the link of an operator in an office, which the calls of this operator share. */
type CallInOffice = (
  request: PageCallRequest,
  onStatus: (status: CallStatus) => void
) => Effect.Effect<ToolResult, ProtocolError>

interface OperatorMembership {
  readonly kind: MembershipKind
  readonly line: ProtocolLine
  readonly office: string
  readonly operator: Operator
}

/** The key of a membership. Sessions of one operator share it although their identities differ, for example in expiry. */
const membershipKey = (membership: OperatorMembership) => {
  const { kind, line, office, operator } = membership
  const id = JSON.stringify([kind, line.name, office, operatorNameOf(operator)])
  return {
    id,
    membership,
    [Hash.symbol]: () => Hash.string(id),
    [Equal.symbol]: (that: { readonly id?: unknown }) => that.id === id
  }
}

const officeHasAgent = (name: string | undefined) =>
  conflict(
    `The office has ${name === undefined ? "an Agent" : `the Agent '${name}'`}, and this Computer does not let operators call beside it (a2c computer --operators)`
  )

const joinAsAgent = Effect.fnUntraced(function* (link: OperatorLink, { line, office, operator }: OperatorMembership) {
  const { event, request } = line.serverRequests.join
  const join = jsonBody(request.encode({ role: "agent", name: operatorNameOf(operator), officeId: office }))
  const acknowledged = yield* Effect.mapError(link.request(event, join), ({ message }) => unavailable(message))
  const values = acknowledged.map(({ head }) => Result.getOrElse(head, () => undefined))
  yield* Effect.mapError(Effect.fromResult(line.decodeMembershipAck(values)), (message) => {
    const current = parseMembershipConflict({ office, role: "agent" }, message)
    return current === undefined ? unavailable(message) : officeHasAgent(current.name)
  })
})

/** Makes the calls of a membership. `listeners` receive the statuses of calls by the ids of their requests. */
const makeCall =
  (
    link: OperatorLink,
    { line, office, operator }: OperatorMembership,
    listeners: Map<string, (status: CallStatus) => void>
  ): CallInOffice =>
  ({ computer, params, timeout, tool }, onStatus) => {
    const { event, reply, request } = line.calls.toolCall
    const agent = operatorNameOf(operator)
    return withNewRequestId(event, { "a2c.office": office, "a2c.computer": computer }, (reqId) =>
      Effect.gen(function* () {
        const body = yield* Effect.try({
          try: () => jsonBody(request.encode({ agent, reqId, computer, toolName: tool, params, timeout, inputModes })),
          catch: (error) => badRequest(String(error))
        })
        listeners.set(reqId, onStatus)
        const replied = yield* Effect.mapError(link.request(event, body), ({ reason }) =>
          unavailable(`The call has ended: ${reason}`)
        )
        return yield* decodeReply(line, reply, replied)
      }).pipe(Effect.ensuring(Effect.sync(() => void listeners.delete(reqId))))
    )
  }

/** Makes the function that opens the membership of an operator, as long as the scope. */
const makeJoin = (server: WatchedServer) => {
  /** Lets a new membership replace an old one of this operator that has not ended yet. Made late: Node loads its crypto. */
  let instance: string | undefined
  return Effect.fnUntraced(function* ({
    membership
  }: ReturnType<typeof membershipKey>): Effect.fn.Return<CallInOffice, ProtocolError, Scope.Scope> {
    const { kind, line, office, operator } = membership
    const listeners = new Map<string, (status: CallStatus) => void>()
    const onNotification = (event: string, body: Body) => {
      if (event !== line.callStatus.notification) return
      const report = Result.getOrUndefined(decodeBody(body, line.decodeCallStatus))
      if (report !== undefined) listeners.get(report.reqId)?.(report.status)
    }
    instance ??= secureRandomHex(16)
    const auth = { role: "agent", instance, a2c_features: ["call_status"] }
    const link = yield* Effect.mapError(
      openOperatorLink(server, { line, auth, operator, onNotification }),
      ({ code, message }) => new ProtocolError({ code, message })
    )
    const connection = server.connections.get(link.id)
    if (kind === "agent") yield* joinAsAgent(link, membership)
    else if (connection !== undefined)
      connection.operates = { office: line.officeKey(office), role: "agent", name: operatorNameOf(operator) }
    return makeCall(link, membership, listeners)
  })
}

/**
 * Makes the function that calls tools for operators, of Computers of this node. An operator joins an office without an
 * Agent as its Agent, and leaves it when the last of its calls there has ended: an unused membership would lock out the
 * real Agent. Beside an Agent it calls Computers that allow it.
 */
export const makeOperatorCalls = Effect.fnUntraced(function* (server: WatchedServer) {
  const { connections, readiness, registry } = server
  const memberships = yield* RcMap.make({ lookup: makeJoin(server) })

  const callAsOperator: CallAsOperator = Effect.fnUntraced(function* (request, operator) {
    const { computer, office } = request
    const line = yield* findLine(server, request.line)
    const name = operatorNameOf(operator)
    const denial = checkJoinRights(operator.identity, { office, role: "agent", name })
    if (denial !== undefined) return yield* forbidden(denial)
    if (readiness.isDraining()) return yield* shuttingDown()
    const officeKey = line.officeKey(office)
    const member = Option.getOrUndefined(registry.findComputer(officeKey, computer))
    const target = member === undefined ? undefined : connections.get(member.sid)
    if (target === undefined) return yield* computerNotFound(computer)
    const [first] = registry.members(officeKey)
    const agent = first?.membership.role === "agent" ? first : undefined
    // The membership of this operator at another node cannot be shared.
    const isOwn = agent?.membership.name === name
    const kind = agent === undefined || (isOwn && agent.node === registry.node) ? "agent" : "operator"
    if (kind === "operator" && !isOwn && !target.features.operatorCalls)
      return yield* officeHasAgent(agent?.membership.name)
    const membershipScope = yield* Scope.fork(yield* Effect.scope)
    const leave = Scope.close(membershipScope, Exit.void)
    const call = yield* RcMap.get(memberships, membershipKey({ kind, line, office, operator })).pipe(
      Scope.provide(membershipScope),
      Effect.onError(() => leave)
    )
    return Stream.ensuring(
      streamCall(kind, name, (onStatus) => call(request, onStatus)),
      leave
    )
  })

  return callAsOperator
})
