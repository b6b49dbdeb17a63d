import { Context, Deferred, Effect, Layer, type Scope, Semaphore, type Stream } from "effect"
import type { Setup } from "../../domain/config/Setup.ts"
import type { Approval, ApprovalAnswer, ApprovalDecision } from "../../domain/approvals/Approval.ts"
import type { Grant } from "../../domain/approvals/standingApprovals.ts"
import type { CallStatus } from "../../domain/model/CallStatus.ts"
import type { ProtocolError } from "../../domain/model/ProtocolError.ts"
import type { ComputerPart } from "../../domain/model/Notification.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import type { Catalogue } from "../../domain/tools/catalogue.ts"
import type { JoinFailed, MemberOptions, OfficeMember } from "../member/OfficeMember.ts"
import { jsonBody } from "../ports/Body.ts"
import type { ApprovalStore } from "../ports/approvals/ApprovalStore.ts"
import type { Policy } from "../ports/approvals/Policy.ts"
import type { AuditLog } from "../ports/AuditLog.ts"
import type { SchemaValidator } from "../ports/SchemaValidator.ts"
import type { Endpoints, McpConnector } from "../ports/McpSession.ts"
import type { TransportClient } from "../ports/Transport.ts"
import { ComputerSettings } from "./ComputerSettings.ts"
import type { DesktopQuery } from "./content/Desktop.ts"
import type { ServerStates } from "./servers/ServersSnapshot.ts"
import {
  type AlreadyJoined,
  makeOfficeConnection,
  type JoinOptions,
  type OfficeConnection,
  type OfficeStatus
} from "./office/OfficeConnection.ts"
import { featuresOf } from "./office/operatorAccess.ts"
import { type ComputerServices, type ComputerServicesOptions, makeComputerServices } from "./office/computerServices.ts"
import { makeComputerRequestHandler } from "./office/computerRequestHandler.ts"
import type { ServerCommands } from "./servers/ServerSupervisor.ts"
import type { CallExplanation } from "../../domain/policy/CallExplanation.ts"
import type { ExplainRequest } from "./calls/CallConsent.ts"
import type { LocalCall, ToolCallRecord } from "./calls/ToolCalls.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

export interface ComputerOptions extends Omit<MemberOptions, "office" | "role" | "features">, ComputerServicesOptions {
  /** The office to join before the servers start; without it the Computer stays outside until `join`. */
  readonly office?: string
  /** Runs before the servers start and after the join of `office`, for example to prompt for inputs. */
  readonly prepare?: Effect.Effect<void>
}

/** What a Computer needs. The last four decide what runs, or keep what was decided: each has a layer that does nothing. */
type ComputerPorts = TransportClient | McpConnector | Endpoints | Policy | SchemaValidator | ApprovalStore | AuditLog

interface ComputerShape extends Omit<ServerCommands, "setNaming"> {
  /** The current states of the MCP servers, then every change. */
  readonly changes: Stream.Stream<ServerStates>
  /** Every configured MCP server and its state. */
  readonly servers: Effect.Effect<ServerStates>
  /** The exposed tools, and the hidden ones with reasons. */
  readonly catalogue: Effect.Effect<Catalogue>
  /** The latest calls that reached a server, oldest first. */
  readonly history: Effect.Effect<ReadonlyArray<ToolCallRecord>>
  /** The current configuration, with unresolved placeholders. */
  readonly setup: Effect.Effect<Setup>
  /** Calls a tool for the Computer's owner, or for the `requester` of the call. `onStatus` receives its progress. */
  readonly callTool: (
    call: LocalCall,
    onStatus?: (status: CallStatus) => Effect.Effect<void>
  ) => Effect.Effect<ToolResult>
  /** The calls that wait for an approval, and open questions, now, the oldest one first, then with every change. */
  readonly approvals: Stream.Stream<ReadonlyArray<Approval>>
  /**
   * Decides about a call that waits for an approval, or answers a question, as its owner unless `by` names another
   * approver. The first answer counts: a later one fails with 409, and one for a call that does not wait with 404.
   */
  readonly decideApproval: (
    id: string,
    answer: ApprovalAnswer,
    by?: string
  ) => Effect.Effect<ApprovalDecision, ProtocolError>
  /** What approvers allow beyond one call. */
  readonly grants: Effect.Effect<ReadonlyArray<Grant>>
  /** Ends a grant; false when no grant has this id. */
  readonly revokeGrant: (id: string) => Effect.Effect<boolean>
  /** Tells how a call of an Agent or operator is decided, and by which rule; `undefined` for an unknown tool. */
  readonly explain: (request: ExplainRequest) => Effect.Effect<CallExplanation | undefined>
  /** Renders the desktop as Agents see it. */
  readonly desktop: (request: DesktopQuery) => Effect.Effect<ReadonlyArray<string>>
  /** The current connection status, then every change. */
  readonly status: Stream.Stream<OfficeStatus>
  /** The office that the Computer is in, or joins or rejoins at present. */
  readonly office: Effect.Effect<string | undefined>
  /** Joins an office with the options of this Computer, unless the request has others. */
  readonly join: (request: JoinOptions) => Effect.Effect<void, JoinFailed | AlreadyJoined>
  /** Leaves the office and cancels its calls; the servers keep running. */
  readonly leave: Effect.Effect<void>
  /** The underlying member, for events that this version does not know. */
  readonly member: Effect.Effect<OfficeMember | undefined>
}

/** Notifies the office of changed parts. `flush` sends what changed during a join: Agents may have fetched it before. */
const makeOfficeUpdates = (computer: ComputerName, member: () => OfficeMember | undefined) => {
  const backlog = new Set<ComputerPart>()
  const notify = (part: ComputerPart): Effect.Effect<void> =>
    Effect.suspend(() => {
      const current = member()
      const defer = Effect.sync(() => void backlog.add(part))
      if (current === undefined) return defer
      const { event, request } = current.line.updates[part]
      return Effect.catch(current.notify(event, jsonBody(request.encode({ computer }))), () => defer)
    })
  return {
    notify,
    clear: () => backlog.clear(),
    flush: Effect.suspend(() => {
      const parts = [...backlog]
      backlog.clear()
      return Effect.forEach(parts, notify, { discard: true })
    })
  }
}

const makeMembership = Effect.fnUntraced(function* (
  services: ComputerServices,
  connection: OfficeConnection,
  updates: ReturnType<typeof makeOfficeUpdates>
) {
  const { blobs, callers, calls, servers, uploads, withRedactedLogs } = services
  const endRequests = Effect.andThen(Effect.sync(callers.forgetAll), Effect.andThen(calls.reset, uploads.reset))

  /** A join waits for a leave, whose end would end the work for the next office. */
  const leaving = yield* Semaphore.make(1)

  const join = Effect.fnUntraced(function* (request: JoinOptions) {
    yield* leaving.withPermit(Effect.void)
    yield* connection.join(request, (member) => {
      updates.clear()
      const handle = makeComputerRequestHandler(services, member)
      return {
        onMessage: (event, body) => withRedactedLogs(handle(event, body)),
        onConnected: withRedactedLogs(servers.setNaming(member.line.naming)),
        onJoined: updates.flush,
        onLost: () => endRequests
      }
    })
  })
  // Only a leave resets the status; the link closes before the servers stop in any case.
  yield* Effect.addFinalizer(() => connection.leave)
  // The second time ends requests that arrived during the first. The next office may have another Agent.
  const leave = leaving.withPermit(
    endRequests.pipe(
      Effect.andThen(connection.leave),
      Effect.andThen(endRequests),
      Effect.andThen(calls.tasks.reset),
      Effect.andThen(blobs.clear)
    )
  )
  return { join, leave }
})

const make = Effect.fnUntraced(function* (
  options: ComputerOptions
): Effect.fn.Return<ComputerShape, JoinFailed, Scope.Scope | ComputerPorts> {
  const { name, office, operators = {}, prepare = Effect.void } = options
  const { approvers, startupTimeout } = yield* ComputerSettings
  const connection = yield* makeOfficeConnection({ ...options, features: featuresOf(operators, approvers) })
  const updates = makeOfficeUpdates(name, connection.member)
  const mayStart = yield* Deferred.make<void>()
  const services = yield* makeComputerServices(options, connection, updates.notify, Deferred.await(mayStart))
  const { callers, calls, desktop, ownApprovals: approvals, servers, withRedactedLogs } = services
  const { join, leave } = yield* makeMembership(services, connection, updates)

  // Without its name in the office, a Computer starts no processes.
  if (office !== undefined) yield* Effect.catchTag(join({ office }), "AlreadyJoined", Effect.die)
  yield* prepare
  yield* Deferred.succeed(mayStart, undefined)
  if (office !== undefined) yield* Effect.timeoutOption(servers.startupCompleted, startupTimeout)

  return {
    servers: Effect.sync(() => servers.snapshot().states),
    changes: servers.changes,
    catalogue: Effect.sync(() => servers.snapshot().catalogue),
    history: Effect.sync(calls.history),
    setup: Effect.sync(servers.setup),
    reconfigure: (setup) => withRedactedLogs(servers.reconfigure(setup)),
    start: (server) => withRedactedLogs(servers.start(server)),
    stop: (server) => withRedactedLogs(servers.stop(server)),
    restart: (server) => withRedactedLogs(servers.restart(server)),
    callTool: (call, onStatus) => withRedactedLogs(calls.callLocally(call, onStatus)),
    approvals: approvals.changes,
    decideApproval: (id, answer, by = "owner") =>
      withRedactedLogs(approvals.decide(id, answer, { _tag: "owner", name: by })),
    grants: Effect.sync(approvals.standing),
    revokeGrant: (id) => withRedactedLogs(approvals.revoke(id)),
    explain: (request) => withRedactedLogs(calls.explain(request, callers.named(request.subject, true))),
    desktop: (request) => withRedactedLogs(desktop.show(request)),
    status: connection.status,
    office: Effect.sync(connection.office),
    join,
    leave,
    member: Effect.sync(connection.member)
  }
})

/** The Computer of an office: runs MCP servers and exposes their tools, windows and documents. */
export class Computer extends Context.Service<Computer, ComputerShape>()("a2c-smcp/application/computer/Computer") {
  /**
   * Joins the office, if any, then starts the servers, for the lifetime of the layer. In an office it resolves once the
   * servers have started, or after `startupTimeout`.
   */
  static readonly layer = (options: ComputerOptions): Layer.Layer<Computer, JoinFailed, ComputerPorts> =>
    Layer.effect(Computer, make(options))
}
