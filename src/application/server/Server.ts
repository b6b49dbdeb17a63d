import { Context, Effect, Layer, Scope } from "effect"
import { lineOf } from "../../domain/protocol/lines.ts"
import { formatVersion } from "../../domain/protocol/version.ts"
import {
  type AdmissionRefused,
  type Handshake,
  type Link,
  type ListenFailed,
  type Receive,
  TransportServer
} from "../ports/Transport.ts"
import type { NodeLink } from "../ports/NodeLink.ts"
import type { OfficeRegistry } from "../ports/OfficeRegistry.ts"
import { makeAdmission } from "./admission.ts"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { EntryObservers } from "./EntryObservers.ts"
import { makeGoDown } from "./goDown.ts"
import { holderOf } from "./holder.ts"
import { makeIntake } from "./Intake.ts"
import { Membership } from "./Membership.ts"
import { Nodes } from "./Nodes.ts"
import { Notifications } from "./Notifications.ts"
import { Readiness } from "./Readiness.ts"
import { makeReceiver } from "./Receiver.ts"
import { Routing } from "./Routing.ts"
import { sweeping } from "./Sweep.ts"
import { Tally } from "./Tally.ts"

/** A whole A2C-SMCP Server on whatever transport it is given. */
export class Server extends Context.Service<
  Server,
  {
    /** Where members connect. */
    readonly url: string
    /** True from when the Server begins to go down: it takes no members and begins no calls any more. */
    readonly draining: () => boolean
    /** How much the Server holds right now; all zero when everybody has gone. */
    readonly load: () => {
      readonly connections: number
      readonly sessions: number
      readonly offices: number
      readonly calls: number
    }
  }
>()("a2c-smcp/application/server/Server") {
  /** Serves until the layer's scope closes. */
  static readonly layerBare = Layer.effect(
    Server,
    Effect.gen(function* () {
      const transport = yield* TransportServer
      const membership = yield* Membership
      const connections = yield* Connections
      const cancellation = yield* Cancellation
      const { gauge } = yield* Tally
      const readiness = yield* Readiness
      let goesDown = false
      const draining = () => goesDown
      const accept = yield* makeAccept(draining)
      const goDown = yield* makeGoDown
      yield* gauge({ name: "connections", help: "Open connections", read: connections.size })
      yield* gauge({ name: "calls_pending", help: "Calls under way", read: cancellation.size })
      yield* gauge({
        name: "backlog_bytes",
        help: "Bytes that wait for members to take them",
        read: connections.totalBacklog
      })
      yield* gauge({
        name: "nodes",
        help: "Servers that share their offices",
        read: () => membership.state().nodes
      })
      yield* gauge({
        name: "registry_up",
        help: "1 while members can join: what the Servers share can be reached",
        read: () => (membership.state().up ? 1 : 0)
      })
      yield* gauge({
        name: "registry_sessions",
        help: "Connections of this Server that its registry knows",
        read: () => membership.state().sessions
      })
      yield* gauge({
        name: "registry_offices",
        help: "Offices that the registry of this Server follows",
        read: () => membership.state().offices
      })
      yield* readiness.part("registry", () =>
        membership.state().up ? undefined : "what the nodes share cannot be reached: nobody can join"
      )
      yield* sweeping
      // A scope of its own, and the finalizer after it: the last one runs first, and members are still served meanwhile.
      const listening = yield* Scope.fork(yield* Effect.scope)
      const { url } = yield* Scope.provide(transport.serve(accept), listening)
      readiness.set({ _tag: "Ready" })
      yield* Effect.addFinalizer(() =>
        goDown(() => {
          goesDown = true
          readiness.set({ _tag: "Draining", reason: "the Server is shutting down" })
        })
      )
      return Server.of({
        url,
        draining,
        load: () => ({
          connections: connections.size(),
          sessions: membership.state().sessions,
          offices: membership.state().offices,
          calls: cancellation.size()
        })
      })
    })
  )

  /** {@link Server.layerBare} with everything but the transport and its way to the others of its cluster. */
  static readonly layer: Layer.Layer<Server, ListenFailed, TransportServer | OfficeRegistry | NodeLink> =
    Server.layerBare.pipe(
      Layer.provide(Routing.layer),
      Layer.provide(Membership.layer),
      Layer.provide(Notifications.layer),
      Layer.provide(Nodes.layer),
      Layer.provide(Layer.merge(Connections.layer, Cancellation.layer))
    )
}

/** Lets connections in: finds out who they are, and keeps what they hold in their own scope. */
const makeAccept = Effect.fnUntraced(function* (draining: () => boolean) {
  const membership = yield* Membership
  const connections = yield* Connections
  const receiver = yield* makeReceiver
  const intake = yield* makeIntake
  const { admit, watch } = yield* makeAdmission
  const observers = yield* EntryObservers

  return Effect.fnUntraced(function* (
    link: Link,
    handshake: Handshake
  ): Effect.fn.Return<Receive, AdmissionRefused, Scope.Scope> {
    const sid = link.id
    const line = lineOf(handshake.version)
    const refuse = ({ code, message: reason }: AdmissionRefused) => {
      const { remote } = handshake
      for (const observe of observers) observe({ _tag: "ConnectionRefused", sid, remote, code, reason })
      return Effect.logWarning("connection refused", { sid, remote, code, reason })
    }
    // Before anything that takes time: whoever is being looked at counts, too.
    const connection = yield* Effect.tapError(connections.add(link, line), refuse)
    const { identity, role } = yield* Effect.tapError(admit(handshake), refuse)
    connection.identity = identity
    yield* Effect.tapError(watch(connection), refuse)
    const version = formatVersion(handshake.version)
    yield* Effect.acquireRelease(
      Effect.orDie(
        membership.apply({
          _tag: "Connect",
          sid,
          node: membership.node,
          version,
          role,
          holder: holderOf(identity.subject, handshake.auth)
        })
      ),
      () => Effect.orDie(membership.apply({ _tag: "Disconnect", sid }))
    )
    yield* Effect.logDebug("connected", { sid, version, subject: identity.subject })
    return intake(connection, receiver(sid, line), draining)
  })
})
