import { Context, Effect, Layer, Option, Result, Schema, type Scope } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { lineOf } from "../../domain/protocol/lines.ts"
import { Role } from "../../domain/protocol/v0_2/office.ts"
import { formatVersion } from "../../domain/protocol/version.ts"
import { codes } from "../../domain/refusal.ts"
import {
  AdmissionRefused,
  type Handshake,
  type Link,
  type ListenFailed,
  type Receive,
  TransportServer
} from "../ports/Transport.ts"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { EntryObservers } from "./EntryObservers.ts"
import { Membership } from "./Membership.ts"
import { Notifications } from "./Notifications.ts"
import { Readiness } from "./Readiness.ts"
import { makeReceiver } from "./Receiver.ts"
import { Routing } from "./Routing.ts"
import { ServerSettings } from "./ServerSettings.ts"
import { Tally } from "./Tally.ts"

const isRole = Schema.is(Role)

/** The role a connection states, if it states one; what it states must be a role (spec §2.5). */
const statedRole = (
  auth: unknown,
  required: boolean
): Result.Result<Option.Option<Role>, AdmissionRefused> => {
  const given = isJsonObject(auth) ? auth["role"] : auth
  if (isRole(given) && isJsonObject(auth)) return Result.succeed(Option.some(given))
  if ((given === undefined || auth === null) && !required) return Result.succeed(Option.none())
  return Result.fail(
    new AdmissionRefused({
      code: codes.badRequest,
      message: 'auth.role must be "agent" or "computer"'
    })
  )
}

/** A whole A2C-SMCP Server on whatever transport it is given. */
export class Server extends Context.Service<
  Server,
  {
    /** Where members connect. */
    readonly url: string
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
      const { accept } = yield* makeAccept
      yield* gauge({ name: "connections", help: "Open connections", read: connections.size })
      yield* gauge({ name: "calls_pending", help: "Calls under way", read: cancellation.size })
      yield* gauge({
        name: "backlog_bytes",
        help: "Bytes that wait for members to take them",
        read: connections.backlog
      })
      const { url } = yield* transport.serve(accept)
      yield* Effect.acquireRelease(
        Effect.sync(() => readiness.set({ _tag: "Ready" })),
        () => Effect.sync(() => readiness.set({ _tag: "Draining", reason: "the Server is shutting down" }))
      )
      return Server.of({
        url,
        load: () => ({
          connections: connections.size(),
          ...membership.size(),
          calls: cancellation.size()
        })
      })
    })
  )

  /** {@link Server.layerBare} with everything but the transport. */
  static readonly layer: Layer.Layer<Server, ListenFailed, TransportServer> = Server.layerBare.pipe(
    Layer.provide(Routing.layer),
    Layer.provide(Membership.layer),
    Layer.provide(Notifications.layer),
    Layer.provide(Layer.merge(Connections.layer, Cancellation.layer))
  )
}

/** Lets connections in: finds out who they are, and keeps what they hold in their own scope. */
const makeAccept = Effect.gen(function* () {
  const membership = yield* Membership
  const connections = yield* Connections
  const receiver = yield* makeReceiver
  const settings = yield* ServerSettings
  const observers = yield* EntryObservers

  const accept = Effect.fnUntraced(function* (
    link: Link,
    handshake: Handshake
  ): Effect.fn.Return<Receive, AdmissionRefused, Scope.Scope> {
    const sid = link.id
    const refuse = ({ code, message: reason }: AdmissionRefused) => {
      const { remote } = handshake
      for (const observe of observers) observe({ _tag: "ConnectionRefused", sid, remote, code, reason })
      return Effect.logWarning("connection refused", { sid, code, reason })
    }
    yield* Effect.tapError(settings.authenticate(handshake), refuse)
    const role = yield* Effect.tapError(
      Effect.fromResult(statedRole(handshake.auth, settings.requireRole)),
      refuse
    )
    const line = lineOf(handshake.version)
    const version = formatVersion(handshake.version)
    yield* connections.add({ link, line })
    yield* Effect.acquireRelease(
      Effect.orDie(membership.apply({ _tag: "Connect", sid, version, role })),
      () => Effect.orDie(membership.apply({ _tag: "Disconnect", sid }))
    )
    yield* Effect.logDebug("connected", { sid, version })
    return receiver(sid, line)
  })

  return { accept }
})
