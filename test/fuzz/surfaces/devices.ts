import { isDeepStrictEqual } from "node:util"
import { Effect, Result } from "effect"
import {
  initialDecoderState,
  maxBufferedBytes,
  dropPartialFrame,
  decodeChunk
} from "../../../src/domain/devices/framing/decoder.ts"
import { encodeFrame, encodeJson } from "../../../src/domain/devices/framing/encoder.ts"
import type { Frame } from "../../../src/domain/devices/framing/frame.ts"
import {
  type DeviceMessage,
  makeDeviceMessage,
  decodeDeviceMessage
} from "../../../src/domain/devices/deviceMessages.ts"
import { toolResultToOutcome, outcomeToToolResult } from "../../../src/domain/devices/serviceOutcome.ts"
import { decodeServices } from "../../../src/domain/devices/serviceDefinitions.ts"
import { isJsonObject } from "../../../src/domain/json.ts"
import { cut, framesOf, full, readPieces } from "../../domain/devices/streams.ts"
import { oneIn, type Random } from "../random.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"
import { deviceFrames, deviceWords } from "./deviceCorpus.ts"

const limits = { maxPayloadBytes: 4000, maxAudioPayloadBytes: 1000 }
const maxServices = 8

const rewritten = (message: DeviceMessage): DeviceMessage | undefined => {
  switch (message._tag) {
    case "Call":
      return Result.getOrUndefined(
        decodeDeviceMessage(encodeJson(makeDeviceMessage.call(message.callId, message.method, message.params)))
      )
    case "Result":
      return Result.getOrUndefined(
        decodeDeviceMessage(encodeJson(makeDeviceMessage.result(message.callId, message.outcome)))
      )
    case "Register":
    case "Registered":
    case "Unknown":
      return message
  }
}

const checkMessage = (payload: Uint8Array): void => {
  const read = decodeDeviceMessage(payload)
  if (Result.isFailure(read)) return must(read.failure !== "", "an error has no message")
  const message = read.success
  const again = rewritten(message)
  must(again?._tag === message._tag, "a message changes in a round trip")
  // Compared as text: the JSON encoder drops the sign of -0.
  if (message._tag === "Call") {
    must(JSON.stringify(again) === JSON.stringify(message), "a call changes in a round trip")
  }
  if (message._tag === "Register") {
    const { errors, services } = decodeServices(message.definitions, maxServices)
    must(services.size <= maxServices, "too many services")
    must(services.size + errors.length === Object.keys(message.definitions).length, "a service is lost")
    must(
      message.duplicates.every((name) => Object.hasOwn(message.definitions, name)),
      "an unregistered name occurs twice"
    )
  }
  if (message._tag === "Result") {
    const result = outcomeToToolResult(message.outcome)
    must(Array.isArray(result["content"]) && result["content"].every(isJsonObject), "the result is not an MCP result")
    toolResultToOutcome(result)
  }
}

/** An accepted frame is encoded unchanged, unless a simple peer would truncate it. */
const checkFrame = (frame: Frame): void => {
  if (frame.type === "mcp") checkMessage(frame.payload)
  const written = encodeFrame(frame, limits)
  if (Result.isFailure(written)) return
  const [again] = framesOf(readPieces([written.success], limits)[1])
  must(again !== undefined && isDeepStrictEqual(again, frame), "a frame changes in a round trip")
}

const feed = (input: Buffer, random: Random): Verdict => {
  // Read buffers of a socket are never modified, so the copy may be shared.
  const bytes = new Uint8Array(input)
  let state = initialDecoderState(limits)
  const [next, events] = decodeChunk(state, bytes)
  state = next
  must(state.buffered.length <= maxBufferedBytes(state.settings), "the buffer exceeds its limit")
  const frames = framesOf(events)
  for (const frame of frames) checkFrame(frame)
  if (oneIn(random, 4) && bytes.length < 2000) {
    const [, pieces] = readPieces(
      cut(bytes, () => 1 + random(20)),
      limits
    )
    must(isDeepStrictEqual(pieces.map(full), events.map(full)), "the events depend on the chunks")
  }
  for (const frame of framesOf(dropPartialFrame(state)[1])) checkFrame(frame)
  checkMessage(bytes)
  return frames.length > 0 ? "accepted" : "refused"
}

/** Byte streams of devices, and the messages in them. */
export const deviceSurface: Surface = {
  name: "devices",
  about: "frames of devices in arbitrary chunks, and their messages",
  weight: 14,
  lanes: 1,
  corpus: deviceFrames,
  words: deviceWords,
  longest: 8192,
  open: () => Effect.succeed(pure(feed))
}
