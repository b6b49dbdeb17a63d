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

/** Encodes one byte per character. */
export const latin1 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"))

/** Decodes one character per byte. */
export const characters = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

export const join = (parts: ReadonlyArray<Uint8Array>): Uint8Array => new Uint8Array(Buffer.concat(parts))

/** Encodes a valid frame. */
export const sent = (frame: Frame): Uint8Array => Result.getOrThrow(encodeFrame(frame))

/** Cuts a stream into chunks of the given lengths. */
export const cut = (stream: Uint8Array, nextLength: () => number): ReadonlyArray<Uint8Array> => {
  const pieces: Array<Uint8Array> = []
  for (let at = 0; at < stream.length; ) {
    const length = Math.max(1, nextLength())
    pieces.push(stream.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** Decodes chunks one after the other. */
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

/** Events of a stream in one chunk. */
export const decode = (stream: Uint8Array, options?: DecoderOptions): ReadonlyArray<DecoderEvent> =>
  readPieces([stream], options)[1]

/** The frames among events. */
export const framesOf = (events: ReadonlyArray<DecoderEvent>): ReadonlyArray<Frame> =>
  events.flatMap((event) => (event._tag === "Frame" ? [event.frame] : []))

/** Formats an event on one line: F(type, task, sequence, payload length), B(reason), G(bytes). */
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

/** Formats an event completely, for fast comparison of long lists. */
export const full = (event: DecoderEvent): string =>
  event._tag === "Frame" ? `${brief(event)}${characters(event.frame.payload)}` : brief(event)

/** Random integers from 0 up to a bound, reproducible by their seed (xorshift). */
export const randomFrom = (seed: number): ((bound: number) => number) => {
  let state = Math.imul(seed, 0x9e3779b1) | 1
  return (bound) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % bound
  }
}
