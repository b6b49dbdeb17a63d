/**
 * Measures the decoder of device frames, compared with the simplest decoder: it cuts at the first `##END` after a
 * `##START` with `Buffer.indexOf`. The simple one ignores JSON, limits and truncated frames, and searches a large frame
 * again with every chunk.
 * Usage: node bench/deviceCodec.ts [MEGABYTES]
 */
import { Result } from "effect"
import { initialDecoderState, decodeChunk } from "../src/domain/devices/framing/decoder.ts"
import { encodeFrame, encodeJson } from "../src/domain/devices/framing/encoder.ts"
import type { FrameType } from "../src/domain/devices/framing/frame.ts"

const megabytes = Number(process.argv[2] ?? 16)
/** Runs; the best one counts. */
const runs = 7

const frame = (type: FrameType, payload: Uint8Array): Uint8Array =>
  Result.getOrThrow(encodeFrame({ type, task: "mcp00001", sequence: 0, payload }))

const call = encodeJson({ type: "call", data: { call_id: "c1", method: "m", params: { format: "simple" } } })
const rows = Array.from({ length: 8_000 }, (_, index) => ({
  id: index,
  name: "现在几点了?",
  note: 'a "b" ##END'
}))

const streams: ReadonlyArray<readonly [string, Uint8Array]> = [
  ["small MCP frames", frame("mcp", call)],
  ["one string of a megabyte", frame("mcp", encodeJson("x".repeat(1_000_000)))],
  ["MCP frames of half a megabyte", frame("mcp", encodeJson(rows))],
  [
    "audio of 20 ms",
    frame(
      "audio",
      Uint8Array.from({ length: 640 }, (_, index) => index % 256)
    )
  ]
]

/** Decodes chunks and returns the number of frames. */
type Read = (pieces: ReadonlyArray<Uint8Array>) => number

const decoder: Read = (pieces) => {
  let state = initialDecoderState()
  let frames = 0
  for (const piece of pieces) {
    const [next, events] = decodeChunk(state, piece)
    for (const event of events) if (event._tag === "Frame") frames++
    state = next
  }
  return frames
}

/** Splits the input and parses the header of every frame. */
const simplest: Read = (pieces) => {
  let rest: Buffer = Buffer.alloc(0)
  let frames = 0
  for (const piece of pieces) {
    rest = rest.length === 0 ? Buffer.from(piece.buffer, piece.byteOffset, piece.length) : Buffer.concat([rest, piece])
    for (;;) {
      const start = rest.indexOf("##START")
      const end = start === -1 ? -1 : rest.indexOf("##END", start)
      if (end === -1) break
      const read = {
        type: rest[start + 7],
        task: rest.toString("latin1", start + 8, start + 16),
        sequence: Number(rest.toString("latin1", start + 16, start + 20)),
        payload: rest.subarray(start + 20, end)
      }
      if (read.payload.length > 0) frames++
      rest = rest.subarray(end + 5)
    }
  }
  return frames
}

/** Bytes per second. */
const speedOf = (read: Read, pieces: ReadonlyArray<Uint8Array>, frames: number, bytes: number): number => {
  let best = 0
  for (let run = 0; run < runs; run++) {
    const start = performance.now()
    if (read(pieces) !== frames) throw new Error("frames are missing")
    best = Math.max(best, (1000 * bytes) / (performance.now() - start))
  }
  return best
}

const inMegabytes = (speed: number): string => `${(speed / 1e6).toFixed(0).padStart(6)} MB/s`

for (const [title, one] of streams) {
  const frames = Math.ceil((megabytes * 1e6) / one.length)
  const stream = Buffer.concat(Array.from({ length: frames }, () => one))
  for (const size of [65_536, 1_460]) {
    const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, index) =>
      stream.subarray(index * size, (index + 1) * size)
    )
    const ours = speedOf(decoder, pieces, frames, stream.length)
    const theirs = speedOf(simplest, pieces, frames, stream.length)
    process.stdout.write(
      `${title.padEnd(30)} in chunks of ${String(size).padStart(5)}  decoder ${inMegabytes(ours)}` +
        `  baseline ${inMegabytes(theirs)}  ratio ${(ours / theirs).toFixed(2)}\n`
    )
  }
}
