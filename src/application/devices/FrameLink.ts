import { Clock, Duration, Effect, Stream } from "effect"
import {
  type InvalidFrameReason,
  type DecoderState,
  initialDecoderState,
  hasPartialFrame,
  dropPartialFrame,
  decodeChunk
} from "../../domain/devices/framing/decoder.ts"
import { encodeFrame, encodeJson, type FrameEncodeError } from "../../domain/devices/framing/encoder.ts"
import type { Frame } from "../../domain/devices/framing/frame.ts"
import { tasks, formatStatus } from "../../domain/devices/handshake.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ByteLink, ByteLinkClosed } from "../ports/ByteLink.ts"
import type { DeviceLimits } from "./DeviceLimits.ts"

/** What comes over a connection of frames. */
export interface FrameHandlers {
  readonly onFrame: (frame: Frame) => Effect.Effect<void>
  /** Bytes that are no frame, or not a good one. */
  readonly onInvalid: (reason: InvalidFrameReason | "garbage", bytes: number) => Effect.Effect<void>
}

/** One end of a connection of frames. */
export interface FrameLink {
  /** The address of the far end, without its port. */
  readonly remoteAddress: string
  readonly send: (frame: Frame) => Effect.Effect<void, ByteLinkClosed | FrameEncodeError>
  /** Sends a message of the MCP extension, on this task. */
  readonly sendMcp: (
    message: JsonObject,
    task?: string
  ) => Effect.Effect<void, ByteLinkClosed | FrameEncodeError>
  /** Sends a status, or the answer to AUTH; one that cannot be sent is not missed. */
  readonly sendStatus: (type: "auth" | "status", kind: string, text?: string) => Effect.Effect<void>
  /** When something came last, in milliseconds since 1970. */
  readonly lastReceivedAt: () => number
  /** Takes what comes, one after the other, until the far end sends no more, and says why. Runs once. */
  readonly receive: (events: FrameHandlers) => Effect.Effect<string>
}

/** How long it is tried to say something to an end that may not read at all. */
const statusTimeout = "1 second"

/** Frames over a connection of bytes. */
export const makeFrameLink = Effect.fnUntraced(function* (
  link: ByteLink,
  limits: DeviceLimits
): Effect.fn.Return<FrameLink> {
  const { frameTimeout } = limits
  let state: DecoderState = initialDecoderState(limits)
  /** Since when a frame is incomplete, in milliseconds since 1970. */
  let partialSince: number | undefined
  let lastReceivedAt = yield* Clock.currentTimeMillis
  /** Something that came is being taken: whatever is incomplete waits for us. */
  let isHandling = false
  /** How much garbage was told of that the decoder has not told yet: it waits for the next frame, which may never come. */
  let reportedGarbage = 0

  const send = (frame: Frame) => Effect.flatMap(Effect.fromResult(encodeFrame(frame, limits)), link.send)

  const handle = Effect.fnUntraced(function* (
    decoded: ReturnType<typeof decodeChunk>,
    now: number,
    { onInvalid, onFrame }: FrameHandlers
  ) {
    const [next, events] = decoded
    state = next
    isHandling = true
    if (!hasPartialFrame(next)) partialSince = undefined
    else if (partialSince === undefined || events.length > 0) partialSince = now
    for (const event of events) {
      switch (event._tag) {
        case "Frame":
          yield* onFrame(event.frame)
          break
        case "BadFrame":
          yield* onInvalid(event.reason, 0)
          break
        case "Garbage":
          yield* onInvalid("garbage", event.bytes - reportedGarbage)
          reportedGarbage = 0
      }
    }
    if (next.pendingGarbage > reportedGarbage) {
      yield* onInvalid("garbage", next.pendingGarbage - reportedGarbage)
      reportedGarbage = next.pendingGarbage
    }
    isHandling = false
  })

  return {
    remoteAddress: link.remoteAddress,
    send,
    sendMcp: (message, task = tasks.mcp) =>
      Effect.suspend(() => send({ type: "mcp", task, sequence: 0, payload: encodeJson(message) })),
    sendStatus: (type, kind, text) =>
      send({ type, task: tasks.system, sequence: 0, payload: encodeUtf8(formatStatus(kind, text)) }).pipe(
        Effect.timeoutOption(statusTimeout),
        Effect.ignore
      ),
    lastReceivedAt: () => lastReceivedAt,
    receive: Effect.fnUntraced(function* (events) {
      // A stalled frame holds no other one: the two do not meet.
      const stallWatchdog = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (
          !isHandling &&
          partialSince !== undefined &&
          now - partialSince >= Duration.toMillis(frameTimeout)
        ) {
          yield* handle(dropPartialFrame(state), now, events)
        }
      }).pipe(Effect.delay(Duration.divideUnsafe(frameTimeout, 2)), Effect.forever)
      const readLoop = Stream.runForEach(link.bytes, (chunk) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          lastReceivedAt = now
          return handle(decodeChunk(state, chunk), now, events)
        })
      )
      yield* Effect.raceFirst(readLoop, stallWatchdog)
      // Why a link is gone is known when its bytes have ended, unless it is only the far end that has closed.
      return yield* Effect.raceFirst(link.closed, Effect.as(Effect.yieldNow, "closed by peer"))
    })
  }
})
