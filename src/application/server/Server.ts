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
import type { OfficeRegistry } from "../ports/OfficeRegistry.ts"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { holderOf } from "./holder.ts"
import { Membership } from "./Membership.ts"
import { Notifications } from "./Notifications.ts"
import { makeReceiver } from "./Receiver.ts"
import { Routing } from "./Routing.ts"
import { ServerSettings } from "./ServerSettings.ts"

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
      const { accept } = yield* makeAccept
      const { url } = yield* transport.serve(accept)
      return Server.of({
        url,
        load: () => ({
          connections: connections.size(),
          sessions: membership.state().sessions,
          offices: membership.state().offices,
          calls: cancellation.size()
        })
      })
    })
  )

  /** {@link Server.layerBare} with everything but the transport and the registry of its cluster. */
  static readonly layer: Layer.Layer<Server, ListenFailed, TransportServer | OfficeRegistry> =
    Server.layerBare.pipe(
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

  const accept = Effect.fnUntraced(function* (
    link: Link,
    handshake: Handshake
  ): Effect.fn.Return<Receive, AdmissionRefused, Scope.Scope> {
    const sid = link.id
    const refuse = (refusal: AdmissionRefused) =>
      Effect.logWarning("connection refused", { sid, code: refusal.code, reason: refusal.message })
    yield* Effect.tapError(settings.authenticate(handshake), refuse)
    const role = yield* Effect.tapError(
      Effect.fromResult(statedRole(handshake.auth, settings.requireRole)),
      refuse
    )
    const line = lineOf(handshake.version)
    const version = formatVersion(handshake.version)
    yield* connections.add({ link, line })
    yield* Effect.acquireRelease(
      Effect.orDie(
        membership.apply({
          _tag: "Connect",
          sid,
          node: membership.node,
          version,
          role,
          holder: holderOf("", handshake.auth)
        })
      ),
      () => Effect.orDie(membership.apply({ _tag: "Disconnect", sid }))
    )
    yield* Effect.logDebug("connected", { sid, version })
    return receiver(sid, line)
  })

  return { accept }
})
