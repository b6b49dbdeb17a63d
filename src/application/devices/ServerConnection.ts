import {
  Clock,
  Deferred,
  Duration,
  Effect,
  Exit,
  FiberMap,
  Redacted,
  Result,
  type Scope,
  Stream
} from "effect"
import type { Frame } from "../../domain/devices/frame.ts"
import { type DeviceMessage, messageOf, type Outcome, readMessage } from "../../domain/devices/messages.ts"
import { readStatus, tasks, writeCredentials } from "../../domain/devices/session.ts"
import { decodeUtf8Leniently, encodeUtf8 } from "../../domain/utf8.ts"
import { ByteConnector } from "../ports/ByteLink.ts"
import { DeviceRefused } from "./Authentication.ts"
import type { DeviceLimits } from "./DeviceLimits.ts"
import { makeFrameLink } from "./FrameLink.ts"
import type { OfferedServices } from "./OfferedServices.ts"

/** What one connection with a device server is for. */
export interface ServerConnection {
  readonly host: string
  readonly port: number
  readonly token?: Redacted.Redacted
  readonly name?: string
  readonly limits: DeviceLimits
  readonly heartbeat: Duration.Duration
  readonly services: OfferedServices
  /** So many services have just been registered. */
  readonly onRegistered: (services: number) => Effect.Effect<void>
}

/** How long the answer to AUTH is waited for: what a server says there, and whether, is documented nowhere. */
const authTime = "5 seconds"

/** A server that used to answer greetings and misses so many is gone. */
const mostMissed = 2.5

/** Kinds of answers to AUTH that mean no. */
const isRefusal = (kind: string): boolean =>
  /ERR|FAIL|DENIED|DENY|INVALID|REFUS|REJECT|UNAUTH|EXPIRED/.test(kind)

type Call = Extract<DeviceMessage, { readonly _tag: "Call" }>

/**
 * Serves one connection with a device server: shows who we are, registers the services and answers calls. Gives the
 * reason why it ended, or fails when trying again would not help.
 */
export const serveServer = Effect.fnUntraced(function* ({
  heartbeat,
  host,
  limits,
  name,
  onRegistered,
  port,
  services,
  token
}: ServerConnection): Effect.fn.Return<string, DeviceRefused, Scope.Scope | ByteConnector> {
  const { connect } = yield* ByteConnector
  const connected = yield* Effect.result(connect({ host, port }))
  if (Result.isFailure(connected)) return connected.failure.message
  const link = yield* makeFrameLink(connected.success, limits)
  /** AUTH was answered, which not all servers do. */
  const admitted = yield* Deferred.make<void>()
  /** We are not welcome, or not any more. */
  const refused = yield* Deferred.make<never, DeviceRefused>()
  const running = yield* FiberMap.make<string, void>()
  const ourName = name === undefined ? "our name" : `the name '${name}'`
  let isGreeted = false
  /** The last complaint of the server, which may say why it ends the connection. */
  let complaint: string | undefined

  const refuse = (message: string) => {
    Deferred.doneUnsafe(refused, Exit.fail(new DeviceRefused({ message })))
  }

  /** Sends a result, or the reason why that one cannot be sent. */
  const answer = (callId: string, outcome: Outcome, task: string) => {
    const send = (what: Outcome) => link.sendMcp(messageOf.result(callId, what), task)
    return send(outcome).pipe(
      Effect.catchTag("FrameUnsendable", ({ message }) =>
        send({ success: false, error: `the result cannot be sent: ${message}` })
      ),
      // What JSON cannot say, from a session of our own process.
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("a result cannot be sent", { call: callId }, defect),
          send({ success: false, error: "internal error" })
        )
      ),
      Effect.ignore
    )
  }

  const onCall = Effect.fnUntraced(function* ({ callId, method, params }: Call, task: string) {
    if (FiberMap.hasUnsafe(running, callId)) {
      return yield* Effect.logDebug("a call came twice", { call: callId, service: method })
    }
    if ((yield* FiberMap.size(running)) >= limits.mostCalls) {
      const error = `busy: ${limits.mostCalls} calls run already`
      return yield* answer(callId, { success: false, error }, task)
    }
    return yield* FiberMap.run(
      running,
      callId,
      Effect.flatMap(services.call(method, params), (outcome) => answer(callId, outcome, task))
    )
  })

  const onMessage = Effect.fnUntraced(function* ({ payload, task }: Frame) {
    const read = readMessage(payload)
    if (Result.isFailure(read)) {
      return yield* Effect.logWarning("the device server sent a bad message", { reason: read.failure })
    }
    const message = read.success
    switch (message._tag) {
      case "Call":
        return yield* onCall(message, task)
      case "Registered":
        if (message.faults.length === 0) return
        return yield* Effect.logWarning("the device server refused services", { faults: message.faults })
      case "Register":
      case "Result":
      case "Unknown":
        return yield* Effect.logDebug("a message of another kind", { message })
    }
  })

  const onFrame = Effect.fnUntraced(function* (frame: Frame) {
    if (frame.type === "mcp") return yield* onMessage(frame)
    if (frame.type !== "auth" && frame.type !== "status") return
    const { kind, text } = readStatus(decodeUtf8Leniently(frame.payload))
    if (kind === "REPLACED") return refuse(`another device goes by ${ourName}`)
    if (kind === "INFO" && text === "PONG") isGreeted = true
    else if (isRefusal(kind)) {
      complaint = text || kind
      if (frame.type === "auth") return refuse(`the device server does not let us in: ${complaint}`)
    }
    if (frame.type === "auth") Deferred.doneUnsafe(admitted, Exit.void)
  })

  const authenticate = Effect.gen(function* () {
    if (token === undefined && name === undefined) return
    const options = new Map(name === undefined ? [] : [["name", name] as const])
    const text = writeCredentials({ token: token === undefined ? "" : Redacted.value(token), options })
    yield* link.send({ type: "auth", task: tasks.system, sequence: 0, payload: encodeUtf8(text) })
    yield* Effect.timeoutOption(Deferred.await(admitted), authTime)
  })

  const register = (offered: Parameters<typeof messageOf.register>[0]) =>
    link.sendMcp(messageOf.register(offered)).pipe(
      Effect.andThen(Effect.logInfo("services registered", { services: offered.size })),
      Effect.andThen(onRegistered(offered.size)),
      Effect.catchTag("FrameUnsendable", ({ message }) =>
        Effect.logError("the services cannot be registered", { services: offered.size, reason: message })
      )
    )

  const speak = authenticate.pipe(
    Effect.andThen(Stream.runForEach(services.changes, register)),
    Effect.andThen(Effect.never),
    Effect.catchTags({
      ByteLinkClosed: () => Effect.never,
      FrameUnsendable: ({ message }) =>
        Effect.fail(new DeviceRefused({ message: `the token cannot be sent: ${message}` }))
    })
  )

  const greet = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(heartbeat)
      const silence = (yield* Clock.currentTimeMillis) - link.heardAt()
      if (isGreeted && silence > mostMissed * Duration.toMillis(heartbeat))
        return "the device server is silent"
      yield* link.say("status", "PING")
    }
  })

  const receive = link
    .receive({
      frame: onFrame,
      fault: (reason) => Effect.logDebug("the device server sent a bad frame", { reason })
    })
    .pipe(
      // A server that refuses closes right afterwards: what it said counts, whichever is noticed first.
      Effect.andThen((reason) =>
        Deferred.isDoneUnsafe(refused)
          ? Deferred.await(refused)
          : Effect.succeed(complaint === undefined ? reason : `${reason}; the server said: ${complaint}`)
      )
    )

  return yield* Effect.raceAllFirst([receive, speak, greet, Deferred.await(refused)])
})
