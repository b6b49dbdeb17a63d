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
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import {
  type DeviceMessage,
  makeDeviceMessage,
  type ServiceOutcome,
  decodeDeviceMessage
} from "../../../domain/devices/deviceMessages.ts"
import { parseStatus, tasks, formatCredentials } from "../../../domain/devices/handshake.ts"
import { decodeUtf8Lossy, encodeUtf8 } from "../../../domain/utf8.ts"
import { ByteConnector } from "../../ports/ByteLink.ts"
import { DeviceRejected } from "../AuthenticateDevice.ts"
import type { DeviceLimits } from "../DeviceLimits.ts"
import { makeFrameLink } from "../FrameLink.ts"
import type { ServiceCatalog } from "./ServiceCatalog.ts"

/** What one connection with a device server is for. */
export interface DeviceServerOptions {
  readonly host: string
  readonly port: number
  readonly token?: Redacted.Redacted
  readonly name?: string
  readonly limits: DeviceLimits
  readonly heartbeatInterval: Duration.Duration
  readonly services: ServiceCatalog
  /** So many services have just been registered. */
  readonly onRegistered: (services: number) => Effect.Effect<void>
}

/** How long the answer to AUTH is waited for: what a server says there, and whether, is documented nowhere. */
const authTimeout = "5 seconds"

/** A server that used to answer greetings and misses so many is gone. */
const maxMissedHeartbeats = 2.5

/** Kinds of answers to AUTH that mean no. */
const isRejection = (kind: string): boolean =>
  /ERR|FAIL|DENIED|DENY|INVALID|REFUS|REJECT|UNAUTH|EXPIRED/.test(kind)

type CallMessage = Extract<DeviceMessage, { readonly _tag: "Call" }>

/**
 * Serves one connection with a device server: shows who we are, registers the services and answers calls. Gives the
 * reason why it ended, or fails when trying again would not help.
 */
export const serveDeviceServer = Effect.fnUntraced(function* ({
  heartbeatInterval,
  host,
  limits,
  name,
  onRegistered,
  port,
  services,
  token
}: DeviceServerOptions): Effect.fn.Return<string, DeviceRejected, Scope.Scope | ByteConnector> {
  const { connect } = yield* ByteConnector
  const connected = yield* Effect.result(connect({ host, port }))
  if (Result.isFailure(connected)) return connected.failure.message
  const link = yield* makeFrameLink(connected.success, limits)
  /** AUTH was answered, which not all servers do. */
  const authenticated = yield* Deferred.make<void>()
  /** We are not welcome, or not any more. */
  const rejected = yield* Deferred.make<never, DeviceRejected>()
  const runningCalls = yield* FiberMap.make<string, void>()
  const deviceName = name === undefined ? "our name" : `the name '${name}'`
  let hasPonged = false
  /** The last complaint of the server, which may say why it ends the connection. */
  let lastServerError: string | undefined

  const reject = (message: string) => {
    Deferred.doneUnsafe(rejected, Exit.fail(new DeviceRejected({ message })))
  }

  /** Sends a result, or the reason why that one cannot be sent. */
  const sendResult = (callId: string, outcome: ServiceOutcome, task: string) => {
    const sendOutcome = (reply: ServiceOutcome) => link.sendMcp(makeDeviceMessage.result(callId, reply), task)
    return sendOutcome(outcome).pipe(
      Effect.catchTag("FrameEncodeError", ({ message }) =>
        sendOutcome({ success: false, error: `the result cannot be sent: ${message}` })
      ),
      // What JSON cannot say, from a session of our own process.
      Effect.catchDefect((defect) =>
        Effect.andThen(
          Effect.logError("a result cannot be sent", { call: callId }, defect),
          sendOutcome({ success: false, error: "internal error" })
        )
      ),
      Effect.ignore
    )
  }

  const onCall = Effect.fnUntraced(function* ({ callId, method, params }: CallMessage, task: string) {
    if (FiberMap.hasUnsafe(runningCalls, callId)) {
      return yield* Effect.logDebug("a call came twice", { call: callId, service: method })
    }
    if ((yield* FiberMap.size(runningCalls)) >= limits.maxCalls) {
      const error = `busy: ${limits.maxCalls} calls run already`
      return yield* sendResult(callId, { success: false, error }, task)
    }
    return yield* FiberMap.run(
      runningCalls,
      callId,
      Effect.flatMap(services.call(method, params), (outcome) => sendResult(callId, outcome, task))
    )
  })

  const onMessage = Effect.fnUntraced(function* ({ payload, task }: Frame) {
    const decoded = decodeDeviceMessage(payload)
    if (Result.isFailure(decoded)) {
      return yield* Effect.logWarning("the device server sent a bad message", { reason: decoded.failure })
    }
    const message = decoded.success
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
    const { kind, text } = parseStatus(decodeUtf8Lossy(frame.payload))
    if (kind === "REPLACED") return reject(`another device goes by ${deviceName}`)
    if (kind === "INFO" && text === "PONG") hasPonged = true
    else if (isRejection(kind)) {
      lastServerError = text || kind
      if (frame.type === "auth") return reject(`the device server does not let us in: ${lastServerError}`)
    }
    if (frame.type === "auth") Deferred.doneUnsafe(authenticated, Exit.void)
  })

  const authenticate = Effect.gen(function* () {
    if (token === undefined && name === undefined) return
    const options = new Map(name === undefined ? [] : [["name", name] as const])
    const text = formatCredentials({ token: token === undefined ? "" : Redacted.value(token), options })
    yield* link.send({ type: "auth", task: tasks.system, sequence: 0, payload: encodeUtf8(text) })
    yield* Effect.timeoutOption(Deferred.await(authenticated), authTimeout)
  })

  const register = (offered: Parameters<typeof makeDeviceMessage.register>[0]) =>
    link.sendMcp(makeDeviceMessage.register(offered)).pipe(
      Effect.andThen(Effect.logInfo("services registered", { services: offered.size })),
      Effect.andThen(onRegistered(offered.size)),
      Effect.catchTag("FrameEncodeError", ({ message }) =>
        Effect.logError("the services cannot be registered", { services: offered.size, reason: message })
      )
    )

  const registerLoop = authenticate.pipe(
    Effect.andThen(Stream.runForEach(services.changes, register)),
    Effect.andThen(Effect.never),
    Effect.catchTags({
      ByteLinkClosed: () => Effect.never,
      FrameEncodeError: ({ message }) =>
        Effect.fail(new DeviceRejected({ message: `the token cannot be sent: ${message}` }))
    })
  )

  const heartbeatLoop = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(heartbeatInterval)
      const idleMillis = (yield* Clock.currentTimeMillis) - link.lastReceivedAt()
      if (hasPonged && idleMillis > maxMissedHeartbeats * Duration.toMillis(heartbeatInterval))
        return "the device server is silent"
      yield* link.sendStatus("status", "PING")
    }
  })

  const receive = link
    .receive({
      onFrame,
      onInvalid: (reason) => Effect.logDebug("the device server sent a bad frame", { reason })
    })
    .pipe(
      // A server that refuses closes right afterwards: what it said counts, whichever is noticed first.
      Effect.andThen((reason) =>
        Deferred.isDoneUnsafe(rejected)
          ? Deferred.await(rejected)
          : Effect.succeed(
              lastServerError === undefined ? reason : `${reason}; the server said: ${lastServerError}`
            )
      )
    )

  return yield* Effect.raceAllFirst([receive, registerLoop, heartbeatLoop, Deferred.await(rejected)])
})
