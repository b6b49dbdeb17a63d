import { Result } from "effect"
import {
  type DecoderEvent,
  type DecoderOptions,
  type DecoderState,
  initialDecoderState,
  decodeChunk
} from "../../../src/domain/devices/framing/decoder.ts"
import { encodeFrame } from "../../../src/domain/devices/framing/encoder.ts"
import { type Frame, frameTypes } from "../../../src/domain/devices/framing/frame.ts"

/** One byte for each character. */
export const latin1 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))

/** One character for each byte. */
export const characters = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

export const join = (parts: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(Buffer.concat(parts))

/** The bytes of a frame that can be sent. */
export const sent = (frame: Frame): Uint8Array => Result.getOrThrow(encodeFrame(frame))

/** A stream in pieces whose lengths are given one after the other. */
export const cut = (stream: Uint8Array, nextLength: () => number): ReadonlyArray<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  for (let at = 0; at < stream.length; ) {
    const length = Math.max(1, nextLength())
    pieces.push(stream.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** Reads pieces one after the other. */
export const readPieces = (
  pieces: ReadonlyArray<Uint8Array>,
  options?: DecoderOptions
): readonly [DecoderState, ReadonlyArray<DecoderEvent>] => {
  const events: Array<DecoderEvent> = []
  let state = initialDecoderState(options)
  for (const piece of pieces) {
    const [next, found] = decodeChunk(state, piece)
    for (const event of found) events.push(event)
    state = next
  }
  return [state, events]
}

/** The events of a stream that comes in one piece. */
export const decode = (stream: Uint8Array, options?: DecoderOptions): ReadonlyArray<DecoderEvent> =>
  readPieces([stream], options)[1]

/** The frames among events. */
export const framesOf = (events: ReadonlyArray<DecoderEvent>): ReadonlyArray<Frame> =>
  events.flatMap((event) => (event._tag === "Frame" ? [event.frame] : []))

/** An event on one line: F(type, task, sequence, bytes of payload), B(reason), G(bytes). */
export const brief = (event: DecoderEvent): string => {
  switch (event._tag) {
    case "InvalidFrame":
      return `B(${event.reason})`
    case "Garbage":
      return `G(${event.bytes})`
    case "Frame": {
      const { payload, sequence, task, type } = event.frame
      const digits = sequence.toString().padStart(4, "0")
      return `F(${frameTypes[type]},${task},${event.bracketed ? `[${digits}]` : digits},${payload.length})`
    }
  }
}

/** An event with everything it says, to compare long lists of them quickly. */
export const full = (event: DecoderEvent): string =>
  event._tag === "Frame" ? `${brief(event)}${characters(event.frame.payload)}` : brief(event)

/** Random whole numbers from 0 up to a bound, the same ones for the same seed (xorshift). */
export const randomFrom = (seed: number): ((bound: number) => number) => {
  let state = Math.imul(seed, 0x9e3779b1) | 1
  return (bound) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % bound
  }
}
