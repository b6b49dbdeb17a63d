import { Clock, Deferred, Duration, Effect, Exit, FiberMap, Redacted, Result, Stream } from "effect"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import { makeDeviceMessage, type ServiceOutcome, decodeDeviceMessage } from "../../../domain/devices/deviceMessages.ts"
import { parseStatus, tasks, formatCredentials } from "../../../domain/devices/handshake.ts"
import { failedOutcome } from "../../../domain/devices/serviceOutcome.ts"
import { decodeUtf8Lossy, encodeUtf8 } from "../../../domain/utf8.ts"
import { ByteConnector } from "../../ports/ByteLink.ts"
import { DeviceRejected } from "../DeviceGatewayOptions.ts"
import type { DeviceLimits } from "../DeviceLimits.ts"
import { type FrameLink, makeFrameLink } from "../FrameLink.ts"
import type { ServiceCatalog } from "./ServiceCatalog.ts"

/** Address of a device server, and identity of the device. */
export interface DeviceAddress {
  readonly host: string
  readonly port: number
  /** Token of the device; must not contain `##`. */
  readonly token?: Redacted.Redacted
  /** Name of the device; must not contain `##`. The server assigns one by default. */
  readonly name?: string
}

interface DeviceServerOptions extends DeviceAddress {
  readonly limits: DeviceLimits
  readonly heartbeatInterval: Duration.Duration
  readonly services: ServiceCatalog
  /** Runs after every registration, with the number of services. */
  readonly onRegistered: (services: number) => Effect.Effect<void>
}

/** How long to wait for a reply to AUTH: servers are not required to send one. */
const authTimeout = "5 seconds"

/** Heartbeat intervals without data after which a server that has replied to PING counts as lost. */
const maxMissedHeartbeats = 2.5

const isRejection = (kind: string): boolean => /ERR|FAIL|DENIED|DENY|INVALID|REFUS|REJECT|UNAUTH|EXPIRED/.test(kind)

/** Sends a result; if it cannot be encoded, sends an error in its place. */
const sendResult = (link: FrameLink, callId: string, outcome: ServiceOutcome, task: string) => {
  const sendOutcome = (reply: ServiceOutcome) => link.sendMcp(makeDeviceMessage.result(callId, reply), task)
  const sendError = (error: string) => sendOutcome(failedOutcome(error))
  return sendOutcome(outcome).pipe(
    Effect.catchTag("FrameEncodeError", ({ message }) => sendError(`sending the result failed: ${message}`)),
    // An in-process session can return values that JSON cannot represent.
    Effect.catchDefect((defect) =>
      Effect.andThen(Effect.logError("sending result failed", { callId }, defect), sendError("internal error"))
    ),
    Effect.ignore
  )
}

const makeServerMessageHandler = Effect.fnUntraced(function* (
  link: FrameLink,
  { limits, services }: DeviceServerOptions
) {
  const runningCalls = yield* FiberMap.make<string, void>()
  return Effect.fnUntraced(function* ({ payload, task }: Frame) {
    const decoded = decodeDeviceMessage(payload)
    if (Result.isFailure(decoded)) {
      return yield* Effect.logWarning("invalid message from device server", { reason: decoded.failure })
    }
    const message = decoded.success
    if (message._tag === "Registered") {
      if (message.faults.length === 0) return
      return yield* Effect.logWarning("device server rejected services", { errors: message.faults })
    }
    if (message._tag !== "Call") return yield* Effect.logDebug("unexpected message", { message })
    const { callId, method, params } = message
    if (FiberMap.hasUnsafe(runningCalls, callId)) {
      return yield* Effect.logDebug("duplicate call ignored", { callId, service: method })
    }
    const reply = (outcome: ServiceOutcome) => sendResult(link, callId, outcome, task)
    return (yield* FiberMap.size(runningCalls)) >= limits.maxCalls
      ? yield* reply(failedOutcome(`busy: ${limits.maxCalls} calls are in flight`))
      : yield* FiberMap.run(runningCalls, callId, Effect.flatMap(services.call(method, params), reply))
  })
})

/** Authenticates the device, then registers its services after every change. */
const registerServices = (
  link: FrameLink,
  { name, onRegistered, services, token }: DeviceServerOptions,
  /** Resolves with the reply to AUTH; some servers send none. */
  authenticated: Effect.Effect<void>
) => {
  const register = (offered: Parameters<typeof makeDeviceMessage.register>[0]) =>
    link.sendMcp(makeDeviceMessage.register(offered)).pipe(
      Effect.andThen(Effect.logInfo("services registered", { services: offered.size })),
      Effect.andThen(onRegistered(offered.size)),
      Effect.catchTag("FrameEncodeError", ({ message }) =>
        Effect.logError("registering services failed", { services: offered.size, reason: message })
      )
    )

  return Effect.gen(function* () {
    if (token !== undefined || name !== undefined) {
      const options = new Map(name === undefined ? [] : [["name", name] as const])
      const text = formatCredentials({ token: token === undefined ? "" : Redacted.value(token), options })
      if (Result.isFailure(text)) return yield* new DeviceRejected({ message: text.failure })
      yield* link.send({ type: "auth", task: tasks.system, sequence: 0, payload: encodeUtf8(text.success) })
      yield* Effect.timeoutOption(authenticated, authTimeout)
    }
    return yield* Effect.andThen(Stream.runForEach(services.changes, register), Effect.never)
  }).pipe(
    Effect.catchTags({
      ByteLinkClosed: () => Effect.never,
      FrameEncodeError: ({ message }) =>
        Effect.fail(new DeviceRejected({ message: `the token cannot be sent: ${message}` }))
    })
  )
}

/**
 * Serves one connection to a device server: authenticates, registers the services, answers calls. Resolves with the
 * reason when the connection ends; fails when a retry cannot succeed.
 */
export const serveDeviceServer = Effect.fnUntraced(function* (options: DeviceServerOptions) {
  const { heartbeatInterval, host, limits, name, port } = options
  const { connect } = yield* ByteConnector
  const connected = yield* Effect.result(connect({ host, port }))
  if (Result.isFailure(connected)) return connected.failure.message
  const link = yield* makeFrameLink(connected.success, limits)
  const onMessage = yield* makeServerMessageHandler(link, options)
  const authenticated = yield* Deferred.make<void>()
  const rejected = yield* Deferred.make<never, DeviceRejected>()
  const deviceName = name === undefined ? "the same name" : `the name '${name}'`
  let hasPonged = false
  /** Can explain why the server closes the connection. */
  let lastServerError: string | undefined

  const reject = (message: string) => void Deferred.doneUnsafe(rejected, Exit.fail(new DeviceRejected({ message })))

  const onFrame = Effect.fnUntraced(function* (frame: Frame) {
    if (frame.type === "mcp") return yield* onMessage(frame)
    if (frame.type !== "auth" && frame.type !== "status") return
    const { kind, text } = parseStatus(decodeUtf8Lossy(frame.payload))
    if (kind === "REPLACED") return reject(`another device uses ${deviceName}`)
    if (kind === "INFO" && text === "PONG") hasPonged = true
    else if (isRejection(kind)) {
      lastServerError = text || kind
      if (frame.type === "auth") return reject(`the device server rejected the device: ${lastServerError}`)
    }
    if (frame.type === "auth") Deferred.doneUnsafe(authenticated, Exit.void)
  })

  const heartbeatLoop = Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(heartbeatInterval)
      const idleMillis = (yield* Clock.currentTimeMillis) - link.lastReceivedAt()
      if (hasPonged && idleMillis > maxMissedHeartbeats * Duration.toMillis(heartbeatInterval))
        return "keepalive_timeout: the device server sent nothing for too long"
      yield* link.sendStatus("status", "PING")
    }
  })

  const receive = Effect.gen(function* () {
    const onInvalid = (reason: string) => Effect.logDebug("invalid frame from device server", { reason })
    const reason = yield* link.receive({ onFrame, onInvalid })
    // A server closes right after a rejection: the rejection counts, even when the close is noticed first.
    if (Deferred.isDoneUnsafe(rejected)) return yield* Deferred.await(rejected)
    return lastServerError === undefined ? reason : `${reason}; last error of the server: ${lastServerError}`
  })

  const registering = registerServices(link, options, Deferred.await(authenticated))
  return yield* Effect.raceAllFirst([receive, registering, heartbeatLoop, Deferred.await(rejected)])
})
