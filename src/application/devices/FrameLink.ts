import { Clock, Duration, Effect, Stream } from "effect"
import {
  type BadFrameReason,
  type DecoderState,
  initialDecoder,
  isIncomplete,
  stalled,
  step
} from "../../domain/devices/decoder.ts"
import { encodeFrame, encodeJson, type FrameUnsendable } from "../../domain/devices/encode.ts"
import type { Frame } from "../../domain/devices/frame.ts"
import { tasks, writeStatus } from "../../domain/devices/session.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { ByteLink, ByteLinkClosed } from "../ports/ByteLink.ts"
import type { DeviceLimits } from "./DeviceLimits.ts"

/** What comes over a connection of frames. */
export interface FrameEvents {
  readonly frame: (frame: Frame) => Effect.Effect<void>
  /** Bytes that are no frame, or not a good one. */
  readonly fault: (reason: BadFrameReason | "garbage", bytes: number) => Effect.Effect<void>
}

/** One end of a connection of frames. */
export interface FrameLink {
  /** The address of the far end, without its port. */
  readonly peer: string
  readonly send: (frame: Frame) => Effect.Effect<void, ByteLinkClosed | FrameUnsendable>
  /** Sends a message of the MCP extension, on this task. */
  readonly sendMcp: (
    message: JsonObject,
    task?: string
  ) => Effect.Effect<void, ByteLinkClosed | FrameUnsendable>
  /** Sends a status, or the answer to AUTH; one that cannot be sent is not missed. */
  readonly say: (type: "auth" | "status", kind: string, text?: string) => Effect.Effect<void>
  /** When something came last, in milliseconds since 1970. */
  readonly heardAt: () => number
  /** Takes what comes, one after the other, until the far end sends no more, and says why. Runs once. */
  readonly receive: (events: FrameEvents) => Effect.Effect<string>
}

/** How long it is tried to say something to an end that may not read at all. */
const sayTime = "1 second"

/** Frames over a connection of bytes. */
export const makeFrameLink = Effect.fnUntraced(function* (
  link: ByteLink,
  limits: DeviceLimits
): Effect.fn.Return<FrameLink> {
  const { frameTime } = limits
  let state: DecoderState = initialDecoder(limits)
  /** Since when a frame is incomplete, in milliseconds since 1970. */
  let begunAt: number | undefined
  let heardAt = yield* Clock.currentTimeMillis
  /** Something that came is being taken: whatever is incomplete waits for us. */
  let isBusy = false
  /** How much garbage was told of that the decoder has not told yet: it waits for the next frame, which may never come. */
  let told = 0

  const send = (frame: Frame) => Effect.flatMap(Effect.fromResult(encodeFrame(frame, limits)), link.send)

  const handle = Effect.fnUntraced(function* (
    decoded: ReturnType<typeof step>,
    now: number,
    { fault, frame }: FrameEvents
  ) {
    const [next, events] = decoded
    state = next
    isBusy = true
    if (!isIncomplete(next)) begunAt = undefined
    else if (begunAt === undefined || events.length > 0) begunAt = now
    for (const event of events) {
      switch (event._tag) {
        case "Frame":
          yield* frame(event.frame)
          break
        case "BadFrame":
          yield* fault(event.reason, 0)
          break
        case "Garbage":
          yield* fault("garbage", event.bytes - told)
          told = 0
      }
    }
    if (next.garbage > told) {
      yield* fault("garbage", next.garbage - told)
      told = next.garbage
    }
    isBusy = false
  })

  return {
    peer: link.peer,
    send,
    sendMcp: (message, task = tasks.mcp) =>
      Effect.suspend(() => send({ type: "mcp", task, sequence: 0, payload: encodeJson(message) })),
    say: (type, kind, text) =>
      send({ type, task: tasks.system, sequence: 0, payload: encodeUtf8(writeStatus(kind, text)) }).pipe(
        Effect.timeoutOption(sayTime),
        Effect.ignore
      ),
    heardAt: () => heardAt,
    receive: Effect.fnUntraced(function* (events) {
      // A stalled frame holds no other one: the two do not meet.
      const watch = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (!isBusy && begunAt !== undefined && now - begunAt >= Duration.toMillis(frameTime)) {
          yield* handle(stalled(state), now, events)
        }
      }).pipe(Effect.delay(Duration.divideUnsafe(frameTime, 2)), Effect.forever)
      const read = Stream.runForEach(link.bytes, (chunk) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          heardAt = now
          return handle(step(state, chunk), now, events)
        })
      )
      yield* Effect.raceFirst(read, watch)
      // Why a link is gone is known when its bytes have ended, unless it is only the far end that has closed.
      return yield* Effect.raceFirst(
        link.closed,
        Effect.as(Effect.yieldNow, "the far end closed the connection")
      )
    })
  }
})
