import { Clock, Duration, Effect, Stream } from "effect"
import {
  type InvalidFrameReason,
  initialDecoderState,
  hasPartialFrame,
  dropPartialFrame,
  decodeChunk
} from "../../domain/devices/framing/decoder.ts"
import { encodeFrame, encodeJson } from "../../domain/devices/framing/encoder.ts"
import type { Frame } from "../../domain/devices/framing/frame.ts"
import { tasks, formatStatus } from "../../domain/devices/handshake.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ByteLink } from "../ports/ByteLink.ts"
import type { DeviceLimits } from "./DeviceLimits.ts"

export interface FrameHandlers {
  readonly onFrame: (frame: Frame) => Effect.Effect<void>
  /** Receives garbage (with its size in bytes) and dropped frames (size 0). */
  readonly onInvalid: (reason: InvalidFrameReason | "garbage", bytes: number) => Effect.Effect<void>
}

export type FrameLink = Effect.Success<ReturnType<typeof makeFrameLink>>

/** The remote end may not read at all. */
const statusTimeout = "1 second"

/** Makes the state of the decoder of a connection, and hands on what it finds. */
const makeFrameReceiver = (limits: DeviceLimits, { onFrame, onInvalid }: FrameHandlers, onHandled: () => void) => {
  let state = initialDecoderState(limits)
  /** Start of the partial frame, in milliseconds since 1970. */
  let partialSince: number | undefined
  /** While a handler runs, a partial frame waits for it and does not time out. */
  let isHandling = false
  /** Bytes of pending garbage that `onInvalid` has counted: the next frame, which reports them, may never come. */
  let reportedGarbage = 0

  const handle = Effect.fnUntraced(function* ([next, events]: ReturnType<typeof decodeChunk>, now: number) {
    state = next
    isHandling = true
    if (!hasPartialFrame(next)) partialSince = undefined
    else if (partialSince === undefined || events.length > 0) partialSince = now
    for (const event of events) {
      if (event._tag === "Frame") yield* onFrame(event.frame)
      else if (event._tag === "InvalidFrame") yield* onInvalid(event.reason, 0)
      else {
        yield* onInvalid("garbage", event.bytes - reportedGarbage)
        reportedGarbage = 0
      }
    }
    if (next.pendingGarbage > reportedGarbage) {
      yield* onInvalid("garbage", next.pendingGarbage - reportedGarbage)
      reportedGarbage = next.pendingGarbage
    }
    isHandling = false
    onHandled()
  })

  return {
    bufferedBytes: () => state.buffered.store.memory.length,
    receive: (chunk: Uint8Array, now: number) => handle(decodeChunk(state, chunk), now),
    // A dropped frame contains no complete frame, so the watchdog and the read loop never handle frames at once.
    dropStalled: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const isStalled = partialSince !== undefined && now - partialSince >= Duration.toMillis(limits.frameTimeout)
      if (!isHandling && isStalled) yield* handle(dropPartialFrame(state), now)
    })
  }
}

/** Makes one end of a frame connection from a byte connection. `onBufferChange` runs when `bufferedBytes` may have changed. */
export const makeFrameLink = Effect.fnUntraced(function* (
  link: ByteLink,
  limits: DeviceLimits,
  onBufferChange: () => void = () => undefined
) {
  let receiver: ReturnType<typeof makeFrameReceiver> | undefined
  let lastReceivedAt = yield* Clock.currentTimeMillis
  let receivedBytes = 0
  /** Bytes that the link is about to queue. */
  let startingBytes = 0
  const reportBuffer = Effect.sync(onBufferChange)

  const send = (frame: Frame) =>
    Effect.flatMap(Effect.fromResult(encodeFrame(frame, limits)), (bytes) =>
      Effect.suspend(() => {
        startingBytes = bytes.length
        onBufferChange()
        startingBytes = 0
        return Effect.ensuring(link.send(bytes), reportBuffer)
      })
    )

  return {
    send,
    sendMcp: (message: JsonObject, task: string = tasks.mcp) =>
      Effect.suspend(() => send({ type: "mcp", task, sequence: 0, payload: encodeJson(message) })),
    /** Sends a status or the reply to AUTH; gives up after a second and ignores failures. */
    sendStatus: (type: "auth" | "status", kind: string, text?: string) =>
      send({ type, task: tasks.system, sequence: 0, payload: encodeUtf8(formatStatus(kind, text)) }).pipe(
        Effect.timeoutOption(statusTimeout),
        Effect.ignore
      ),
    /** Time of the last received bytes, in milliseconds since 1970. */
    lastReceivedAt: () => lastReceivedAt,
    /** Memory of the frames that the remote end has not read, and of the frame that it has sent in part. */
    bufferedBytes: () => link.unsentBytes() + startingBytes + (receiver?.bufferedBytes() ?? 0),
    /** Bytes that have passed the link in either direction. */
    passedBytes: () => link.sentBytes() + receivedBytes,
    /** Receives frames one after the other until the remote end closes, and resolves with the reason. Runs once. */
    receive: Effect.fnUntraced(function* (events: FrameHandlers) {
      const opened = makeFrameReceiver(limits, events, onBufferChange)
      receiver = opened
      const watchInterval = Duration.divideUnsafe(limits.frameTimeout, 2)
      const stallWatchdog = Effect.forever(Effect.delay(opened.dropStalled, watchInterval))
      const readLoop = Stream.runForEach(link.bytes, (chunk) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          lastReceivedAt = now
          receivedBytes += chunk.length
          return opened.receive(chunk, now)
        })
      )
      yield* Effect.raceFirst(readLoop, stallWatchdog)
      // A lost link knows its reason by now; otherwise only the remote end has closed.
      return yield* Effect.raceFirst(link.closed, Effect.as(Effect.yieldNow, "closed by peer"))
    })
  }
})
