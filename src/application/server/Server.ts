import { Context, Effect, Layer, Option, Result, Schema, type Scope } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { type Line, lineOf } from "../../domain/protocol/lines.ts"
import type { offices, ReportRow, ServerRow } from "../../domain/protocol/v0_2/events.ts"
import { Role } from "../../domain/protocol/v0_2/office.ts"
import { formatVersion } from "../../domain/protocol/version.ts"
import { codes, internal, otherOffice, type Refusal, unknownEvent } from "../../domain/refusal.ts"
import { type Body, decodeHead, jsonBody } from "../ports/Body.ts"
import {
  AdmissionRefused,
  type Answer,
  type Handshake,
  type Link,
  type ListenFailed,
  type Receive,
  TransportServer
} from "../ports/Transport.ts"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { Membership } from "./Membership.ts"
import { Notifications } from "./Notifications.ts"
import { Routing, seatOf } from "./Routing.ts"
import { ServerSettings } from "./ServerSettings.ts"

/** What answers the sender when nothing is to be said: an acknowledgement without values. */
const silence: Answer = []

const values = (...given: ReadonlyArray<unknown>): Answer => given.map(jsonBody)

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

const makeAccept = Effect.gen(function* () {
  const membership = yield* Membership
  const notifications = yield* Notifications
  const connections = yield* Connections
  const routing = yield* Routing
  const settings = yield* ServerSettings

  const dropped = (sid: string, event: string, reason: string) =>
    Effect.as(Effect.logWarning("message dropped", { sid, event, reason }), silence)

  const join = Effect.fnUntraced(function* (sid: string, line: Line, row: typeof offices.join, body: Body) {
    const outcome = yield* Effect.fromResult(decodeHead(body, row.request.decode)).pipe(
      Effect.flatMap(({ name, officeId: office, role }) =>
        Effect.andThen(
          membership.apply({ _tag: "Join", sid, role, name, office }),
          Effect.logInfo("joined", { sid, office, role, name })
        )
      ),
      Effect.tapError(({ message }) => Effect.logWarning("join refused", { sid, reason: message })),
      Effect.result
    )
    return values(...line.writePair(outcome))
  })

  const leave = Effect.fnUntraced(function* (sid: string, line: Line, row: typeof offices.leave, body: Body) {
    const outcome = yield* Effect.fromResult(decodeHead(body, row.request.decode)).pipe(
      Effect.flatMap(({ officeId: office }) =>
        Effect.andThen(
          membership.apply({ _tag: "Leave", sid, office }),
          Effect.logInfo("left", { sid, office })
        )
      ),
      Effect.result
    )
    return values(...line.writePair(outcome))
  })

  const list = Effect.fnUntraced(function* (sid: string, row: typeof offices.list, body: Body) {
    const { officeId, reqId } = yield* Effect.fromResult(decodeHead(body, row.request.decode))
    const { office } = yield* Effect.fromResult(seatOf(membership.session(sid), row.from))
    if (office !== officeId) {
      yield* Effect.logWarning("listing another office refused", { sid, office: officeId })
      return yield* otherOffice(`Room '${officeId}'`)
    }
    const sessions = membership.list(office).map(({ place, sid: id, version }) => ({
      sid: id,
      name: place.name,
      role: place.role,
      officeId: place.office,
      version
    }))
    return values(row.reply.encode({ sessions, reqId }))
  })

  const report = Effect.fnUntraced(function* (sid: string, row: ReportRow, event: string, body: Body) {
    const request = decodeHead(body, row.request.decode)
    if (Result.isFailure(request)) return yield* dropped(sid, event, request.failure.message)
    const seat = seatOf(membership.session(sid), row.from)
    if (Result.isFailure(seat)) return yield* dropped(sid, event, seat.failure.message)
    const { name, office } = seat.success
    if (request.success.computer !== name) return yield* dropped(sid, event, "not about the sender")
    yield* notifications.tell(membership.others(office, sid), {
      _tag: "Updated",
      part: row.part,
      computer: name
    })
    return silence
  })

  const cancel = Effect.fnUntraced(function* (
    sid: string,
    row: Extract<ServerRow, { readonly kind: "cancel" }>,
    event: string,
    body: Body
  ) {
    const request = decodeHead(body, row.request.decode)
    if (Result.isFailure(request)) return yield* dropped(sid, event, request.failure.message)
    const seat = seatOf(membership.session(sid), row.from)
    if (Result.isFailure(seat)) return yield* dropped(sid, event, seat.failure.message)
    const { name, office } = seat.success
    if (request.success.agent !== name) return yield* dropped(sid, event, "not about the sender")
    yield* notifications.tell(membership.others(office, sid), {
      _tag: "Cancelled",
      agent: name,
      reqId: request.success.reqId
    })
    return silence
  })

  const refused = (sid: string, line: Line, event: string) => (refusal: Refusal) =>
    Effect.as(
      refusal.code === codes.forbidden
        ? Effect.logWarning("request refused", { sid, event, reason: refusal.message })
        : Effect.logDebug("request refused", { sid, event, code: refusal.code, reason: refusal.message }),
      values(line.writeRefusal(refusal))
    )

  const answer = (
    sid: string,
    line: Line,
    row: ServerRow,
    event: string,
    body: Body
  ): Effect.Effect<Answer> => {
    switch (row.kind) {
      case "call":
        return Effect.matchEffect(routing.route(sid, row, event, body), {
          onSuccess: (reply) => Effect.succeed([reply]),
          onFailure: refused(sid, line, event)
        })
      case "join":
        return join(sid, line, row, body)
      case "leave":
        return leave(sid, line, row, body)
      case "list":
        return Effect.catch(list(sid, row, body), refused(sid, line, event))
      case "report":
        return report(sid, row, event, body)
      case "cancel":
        return cancel(sid, row, event, body)
    }
  }

  /** What the sender hears when we failed: the shape its event promises, and nothing of the cause. */
  const apology = (line: Line, row: ServerRow): Answer => {
    const trouble = internal("Internal error")
    if (row.kind === "join" || row.kind === "leave") return values(...line.writePair(Result.fail(trouble)))
    return row.kind === "report" || row.kind === "cancel" ? silence : values(line.writeRefusal(trouble))
  }

  const receiver =
    (sid: string, line: Line): Receive =>
    (event, body) => {
      const row = line.serverRow(event)
      if (row === undefined) return refused(sid, line, event)(unknownEvent(event))
      return Effect.catchDefect(answer(sid, line, row, event, body), (defect) =>
        Effect.as(Effect.logError("request failed", { sid, event }, defect), apology(line, row))
      )
    }

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
      Effect.orDie(membership.apply({ _tag: "Connect", sid, version, role })),
      () => Effect.orDie(membership.apply({ _tag: "Disconnect", sid }))
    )
    yield* Effect.logDebug("connected", { sid, version })
    return receiver(sid, line)
  })

  return { accept }
})
