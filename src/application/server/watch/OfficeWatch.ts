import { Clock, Context, Deferred, Duration, Effect, FiberHandle, Layer, type Scope, Struct } from "effect"
import { unavailable } from "../../../domain/model/ProtocolError.ts"
import type { PageEvent, PageNode } from "../../../domain/page/PageEvent.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { AuditLog } from "../../ports/AuditLog.ts"
import { DocumentReader } from "../../ports/files/DocumentReader.ts"
import { makeRecordAction } from "../observability/auditing.ts"
import { Observability } from "../observability/Observability.ts"
import type { StatusReport } from "../observability/statusReport.ts"
import {
  CallObservers,
  CallStatusObservers,
  MembershipObservers,
  type Observers,
  UpdateObservers
} from "../observability/observers.ts"
import { type CallBodyOptions, makeCallBodies } from "./CallBodies.ts"
import { makeCallTable, callId, toMembershipEvent, toPageMember } from "./pageEvents.ts"
import { type Focus, makeCommands } from "./commands.ts"
import { type Inspections, makeInspections } from "./inspections.ts"
import { makeClusterCommands, type FollowedNodes, makeOtherNodes, type OtherNodes } from "./nodes/otherNodes.ts"
import { makeNodeService } from "./nodes/nodeService.ts"
import { makeOperatorCalls } from "./operatorCalls.ts"
import type { WatchedServer } from "./WatchedServer.ts"
import { openPageStream } from "../../shared/page/openPageStream.ts"
import type { CallAsOperator, PageSource } from "../../shared/page/PageSource.ts"
import type { StreamBuffer } from "../../shared/page/StreamBuffer.ts"

export const maxSnapshotMembers = 2000

/** Time between two reports of the node and of the activity. */
const statusInterval = Duration.seconds(1)

/** How long the ended calls are kept without an open page, so that a reload shows them. */
export const endedCallsRetention = Duration.minutes(5)

export interface OfficeWatchOptions {
  /** Captures arguments and results of calls while a page is open; off by default. */
  readonly bodies?: CallBodyOptions
}

/** A Server to which the watch is attached. */
interface Attached extends Pick<PageSource, "execute" | "call"> {
  readonly server: WatchedServer
  readonly nodes: OtherNodes
  /** Completed when the Server begins to shut down. */
  readonly detached: Deferred.Deferred<undefined>
}

const notServing = () => unavailable("The Server is not serving")

/**
 * Observes all offices of one Server for its operators, and executes their commands. Nothing on the path of a call waits
 * for it. Without an open stream it keeps no calls.
 */
export class OfficeWatch extends Context.Service<
  OfficeWatch,
  PageSource & {
    /** Watches a Server until the scope closes, which ends all streams. */
    readonly attach: (server: WatchedServer) => Effect.Effect<void, never, Scope.Scope>
  }
>()("a2c-smcp/application/server/watch/OfficeWatch") {
  /** Observes the Server that this layer is provided to. Every Server needs its own. */
  static readonly layer = (
    options: OfficeWatchOptions = {}
  ): Layer.Layer<OfficeWatch, never, Observability | AuditLog> =>
    Layer.fresh(Layer.effectContext(Effect.suspend(() => make(options))))
}

const toPageNode = ({ connections, registry }: WatchedServer, report: StatusReport): PageNode => {
  const { gauges, reason, recent } = report
  return {
    node: registry.node,
    ...Struct.pick(report, ["version", "lines", "state", "components", "startedAt"]),
    connections: connections.size(),
    callsInFlight: gauges["calls_in_flight"] ?? 0,
    callsPerSecond: recent.perSecond,
    memoryBytes: gauges["process_resident_memory_bytes"] ?? 0,
    ...definedOnly({ reason, latency: recent.latency })
  }
}

/** The calls in flight. Nothing observes their starts: the look at all of them once for a batch costs less. */
function* callsInFlight({ connections }: WatchedServer) {
  for (const { calls } of connections.all()) for (const { origin } of calls) if (origin !== undefined) yield origin
}

/** Keeps a value by the id of its stream, as long as the scope. */
const keep = <A>(values: Map<string, A>, stream: string, value: A) =>
  Effect.acquireRelease(
    Effect.sync(() => values.set(stream, value)),
    () => Effect.sync(() => values.delete(stream))
  )

/** The open streams by their ids, the calls that they get, and the Server. */
const makeWatched = ({ bodies }: OfficeWatchOptions) => {
  const streams = new Map<string, StreamBuffer>()
  return {
    streams,
    inspections: new Map<string, Inspections>(),
    /** The other nodes in each stream; missing in streams of other nodes. */
    others: new Map<string, FollowedNodes>(),
    calls: makeCallTable(streams),
    bodies: bodies && makeCallBodies(bodies),
    attached: undefined as Attached | undefined
  }
}

type Watched = ReturnType<typeof makeWatched>

/** Makes the effect that opens a stream of this node alone. */
const makeOpening = Effect.fnUntraced(function* (watched: Watched) {
  const { bodies, calls, streams } = watched
  const clock = yield* Clock.Clock
  const observability = yield* Observability
  /** Replaces the background task. */
  const run = yield* FiberHandle.makeRuntime<never>()
  const now = () => clock.currentTimeMillisUnsafe()
  const nodeEvent = (server: WatchedServer): PageNode => toPageNode(server, observability.report())

  const reporting = (server: WatchedServer) =>
    Effect.sleep(statusInterval).pipe(
      Effect.map(() => {
        const status: ReadonlyArray<PageEvent> = [
          { _tag: "Activity", at: now(), offices: calls.takeActivity() },
          { _tag: "Node", node: nodeEvent(server) }
        ]
        for (const buffer of streams.values()) buffer.setStatus(status)
      }),
      Effect.catchCause((cause) => Effect.logError("office watch failed", cause)),
      Effect.forever
    )

  const forgetting = Effect.map(Effect.sleep(endedCallsRetention), () => {
    calls.clearEnded()
    bodies?.clear()
  })

  const describe = (server: WatchedServer) => {
    const all = server.connections.all().flatMap((connection) => toPageMember(connection, now()) ?? [])
    const members = all.slice(0, maxSnapshotMembers)
    const shown = calls.snapshot(callsInFlight(server), server.registry.node)
    return { members, omittedMembers: all.length - members.length, calls: shown, nodes: [nodeEvent(server)] }
  }

  const endLast = Effect.sync(() => {
    if (streams.size > 0) return
    calls.clearRunning()
    run(forgetting)
  })

  return Effect.gen(function* () {
    if (watched.attached === undefined) return yield* notServing()
    const { detached, server } = watched.attached
    yield* Effect.addFinalizer(() => endLast)
    const { buffer, nextBatch, snapshot } = yield* openPageStream(streams, () => describe(server))
    if (streams.size === 1) run(reporting(server))
    yield* keep(watched.inspections, snapshot.stream, yield* makeInspections(server, buffer.addEvent))
    const hasEvents = (): boolean => {
      calls.showRunning(callsInFlight(server), server.registry.node, now())
      return buffer.hasEvents()
    }
    return { snapshot, buffer, next: Effect.raceFirst(nextBatch(hasEvents), Deferred.await(detached)) }
  })
})

/** Makes the function that executes the commands of operators at a Server until the scope closes. */
const makeAttach = Effect.fnUntraced(function* (
  { bodies, inspections, others }: Watched,
  openHere: PageSource["open"]
) {
  const documents = yield* Effect.serviceOption(DocumentReader)
  const recorded = yield* makeRecordAction
  const focus: Focus = Effect.fnUntraced(function* (id, address, operator) {
    const inspected = inspections.get(id)
    if (inspected === undefined) return false
    yield* inspected.focus(address)
    yield* others.get(id)?.focus(address, operator) ?? Effect.void
    return true
  })

  return Effect.fnUntraced(function* (server: WatchedServer): Effect.fn.Return<Attached, never, Scope.Scope> {
    const nodes = makeOtherNodes(server)
    const execute = yield* makeCommands(server, { bodies, documents, focus, recorded })
    const startCall = yield* makeOperatorCalls(server)
    const call: CallAsOperator = (request, operator) => {
      const { computer, line, office, tool } = request
      return recorded("call", operator, { line, office, computer, tool }, startCall(request, operator))
    }
    yield* server.nodes.serveOperators(yield* makeNodeService({ open: openHere, execute, call }))
    const commands = makeClusterCommands(server, nodes, { execute, call })
    return { server, nodes, detached: yield* Deferred.make<undefined>(), ...commands }
  })
})

const make = Effect.fnUntraced(function* (options: OfficeWatchOptions) {
  const clock = yield* Clock.Clock
  const watched = makeWatched(options)
  const { bodies, calls, streams } = watched
  const openHere = yield* makeOpening(watched)
  const attach = yield* makeAttach(watched, openHere)
  const now = () => clock.currentTimeMillisUnsafe()
  const addEvent = (event: PageEvent): void => {
    for (const buffer of streams.values()) buffer.addEvent(event)
  }

  /** Adds an observer to those of the context, for the time that a stream is open. */
  const observe = <A>(observers: Observers<A>, onEvent: (event: A, server: WatchedServer) => void) =>
    Effect.map(observers, (before) => {
      const observer = (event: A) => {
        if (streams.size > 0 && watched.attached !== undefined) onEvent(event, watched.attached.server)
      }
      return Context.make(observers, [...before, observer])
    })

  const observers = yield* Effect.all([
    observe(CallObservers, (completed, { registry: { node } }) => {
      calls.end(completed, node)
      bodies?.capture(callId(node, completed.serial), completed)
    }),
    observe(CallStatusObservers, (describe, { registry: { node } }) => calls.report(describe(), node)),
    observe(MembershipObservers, (event, { connections, registry: { node } }) => {
      const connection = event.sid === undefined ? undefined : connections.get(event.sid)
      const shown = toMembershipEvent(event, node, connection, now())
      if (shown !== undefined) addEvent(shown)
      if (event._tag === "Entered") for (const one of watched.inspections.values()) one.add(event.sid)
    }),
    observe(UpdateObservers, (update) => addEvent({ _tag: "Updated", ...update, at: now() }))
  ])

  const service = OfficeWatch.of({
    hasBodies: bodies !== undefined,
    open: Effect.gen(function* () {
      const stream = yield* openHere
      if (watched.attached !== undefined)
        yield* keep(watched.others, stream.snapshot.stream, yield* watched.attached.nodes.follow(stream.buffer))
      return stream
    }),
    execute: (command, operator) =>
      Effect.suspend(() => watched.attached?.execute(command, operator) ?? Effect.fail(notServing())),
    call: (request, operator) =>
      Effect.suspend(() => watched.attached?.call(request, operator) ?? Effect.fail(notServing())),
    attach: Effect.fnUntraced(function* (server) {
      const attached = yield* attach(server)
      yield* Effect.addFinalizer(() => {
        watched.attached = undefined
        return Deferred.succeed(attached.detached, undefined)
      })
      watched.attached = attached
    })
  })
  return Context.mergeAll(Context.make(OfficeWatch, service), ...observers)
})
