import { appendBytes, type ByteBuffer, copyToBuffer, emptyBuffer, bytesOf } from "./byteBuffer.ts"
import { defaultFrameLimits, type Frame, type FrameLimits, type FrameType, maxPayloadFor } from "./frame.ts"
import { type PayloadMode, type PayloadPosition, scanPayload } from "./payloadScanner.ts"
import {
  endMarker,
  hashByte,
  type Header,
  maxHeaderLength,
  matchHeader,
  matchMarker,
  parseHeader,
  startMarker
} from "./frameHeader.ts"

/** `unterminated`: a new frame starts before the end; `timeout`: the frame does not end in time. */
export type InvalidFrameReason = "invalid_header" | "unterminated" | "too_large" | "timeout"

export type DecoderEvent =
  /** `bracketed`: the sequence stands in brackets, as some documents show it. */
  | { readonly _tag: "Frame"; readonly frame: Frame; readonly bracketed: boolean }
  /** The decoder drops a frame and searches for the next one. The bytes of the frame count as garbage. */
  | { readonly _tag: "InvalidFrame"; readonly reason: InvalidFrameReason }
  /** Number of bytes since the last frame that belong to no frame. Comes right before the next frame. */
  | { readonly _tag: "Garbage"; readonly bytes: number }

/** Decoder options; {@link defaultFrameLimits} apply where a limit is absent. */
export interface DecoderOptions extends Partial<FrameLimits> {
  /**
   * `strict` (default) skips JSON strings when it searches for the end, and detects truncated frames. `naive` ends
   * every frame at the first end marker, as simple peers do.
   */
  readonly framing?: "strict" | "naive"
}

type DecoderSettings = Required<DecoderOptions>

/** A frame with a complete header. Offsets count from its start marker. */
interface PartialFrame extends PayloadPosition {
  readonly header: Header
}

/** Immutable state between two calls of {@link decodeChunk}. */
export interface DecoderState {
  readonly settings: DecoderSettings
  /** The bytes from the start marker of the partial frame on, or from a possible beginning of one. */
  readonly buffered: ByteBuffer
  readonly partial: PartialFrame | undefined
  /** Bytes of garbage since the last frame, reported before the next frame. */
  readonly pendingGarbage: number
}

const jsonFrameTypes: ReadonlySet<FrameType> = new Set(["mcp", "listen", "emoji"])

const initialPayloadMode = (type: FrameType, { framing }: DecoderSettings): PayloadMode => {
  if (framing === "naive") return "firstMarker"
  return jsonFrameTypes.has(type) ? "outsideString" : "plain"
}

export const initialDecoderState = ({ framing = "strict", ...limits }: DecoderOptions = {}): DecoderState => ({
  settings: { framing, ...defaultFrameLimits, ...limits },
  buffered: emptyBuffer,
  partial: undefined,
  pendingGarbage: 0
})

/** Upper bound of the buffered bytes: a header, the largest payload, and an incomplete header after it. */
export const maxBufferedBytes = (limits: FrameLimits): number =>
  maxHeaderLength + Math.max(limits.maxPayloadBytes, limits.maxAudioPayloadBytes) + maxHeaderLength - 1

/** True when a frame has started and not ended. An incomplete start marker does not count. */
export const hasPartialFrame = (state: DecoderState): boolean =>
  state.partial !== undefined || state.buffered.length >= startMarker.length

/** Offset of the next start marker, or of an incomplete one at the end of the bytes. */
const findStartMarker = (bytes: Uint8Array, from: number): number => {
  let at = bytes.indexOf(hashByte, from)
  while (at !== -1 && matchMarker(bytes, at, startMarker) === "no") at = bytes.indexOf(hashByte, at + 1)
  return at === -1 ? bytes.length : at
}

interface ScanState {
  /** Start of the partial frame; all bytes before it are consumed. */
  frameStart: number
  partial: PartialFrame | undefined
  garbage: number
  readonly events: Array<DecoderEvent>
}

const rejectFrame = (scan: ScanState, reason: InvalidFrameReason, resumeAt: number): void => {
  scan.events.push({ _tag: "InvalidFrame", reason })
  scan.garbage += resumeAt - scan.frameStart
  scan.frameStart = resumeAt
  scan.partial = undefined
}

const emitFrame = (bytes: Uint8Array, scan: ScanState, header: Header, end: number): void => {
  const { bracketed, size, ...fields } = header
  const payload = bytes.subarray(scan.frameStart + size, end)
  if (scan.garbage > 0) scan.events.push({ _tag: "Garbage", bytes: scan.garbage })
  scan.events.push({ _tag: "Frame", frame: { ...fields, payload }, bracketed })
  scan.garbage = 0
  scan.frameStart = end + endMarker.length
  scan.partial = undefined
}

const findHeader = (bytes: Uint8Array, scan: ScanState, settings: DecoderSettings): PartialFrame | undefined => {
  for (;;) {
    const start = findStartMarker(bytes, scan.frameStart)
    scan.garbage += start - scan.frameStart
    scan.frameStart = start
    const match = matchHeader(bytes, start)
    if (match === "incomplete") return undefined
    const header = match === "yes" ? parseHeader(bytes, start) : undefined
    if (header !== undefined) return { header, offset: header.size, mode: initialPayloadMode(header.type, settings) }
    rejectFrame(scan, "invalid_header", start + startMarker.length)
  }
}

const scanChunk = (bytes: Uint8Array, scan: ScanState, settings: DecoderSettings): void => {
  for (;;) {
    const partial = scan.partial ?? findHeader(bytes, scan, settings)
    if (partial === undefined) return
    const { header } = partial
    const lastEndOffset = scan.frameStart + header.size + maxPayloadFor(header.type, settings)
    const { offset, outcome, mode } = scanPayload(
      bytes,
      { offset: scan.frameStart + partial.offset, mode: partial.mode },
      lastEndOffset
    )
    if (outcome === "incomplete") {
      scan.partial = { header, offset: offset - scan.frameStart, mode }
      return
    }
    if (outcome === "end") emitFrame(bytes, scan, header, offset)
    else rejectFrame(scan, outcome === "start" ? "unterminated" : "too_large", offset)
  }
}

type DecodeResult = readonly [DecoderState, ReadonlyArray<DecoderEvent>]

/** Scans the bytes and keeps the rest of them: in `buffer` if nothing was consumed, else as a copy. */
const finishScan = (
  bytes: Uint8Array,
  scan: ScanState,
  settings: DecoderSettings,
  buffer?: ByteBuffer
): DecodeResult => {
  scanChunk(bytes, scan, settings)
  const { events, frameStart, garbage, partial } = scan
  const buffered = frameStart === 0 && buffer !== undefined ? buffer : copyToBuffer(bytes.subarray(frameStart))
  return [{ settings, buffered, partial, pendingGarbage: garbage }, events]
}

/**
 * Decodes the next chunk of a stream in linear time; it never fails. Chunk boundaries do not affect the events.
 * Payloads can share memory with the chunk, so the caller must not modify it afterwards.
 */
export const decodeChunk = (
  { partial, pendingGarbage, buffered, settings }: DecoderState,
  chunk: Uint8Array
): DecodeResult => {
  const buffer = buffered.length === 0 ? undefined : appendBytes(buffered, chunk, maxBufferedBytes(settings))
  // A plain view: subclasses of Uint8Array override methods such as `subarray`.
  const bytes = buffer === undefined ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length) : bytesOf(buffer)
  return finishScan(bytes, { frameStart: 0, partial, garbage: pendingGarbage, events: [] }, settings, buffer)
}

/** Drops the partial frame after a timeout (see {@link hasPartialFrame}), and scans its bytes for other frames. */
export const dropPartialFrame = (state: DecoderState): DecodeResult => {
  if (!hasPartialFrame(state)) return [state, []]
  const { pendingGarbage, buffered, settings } = state
  const scan: ScanState = { frameStart: 0, partial: undefined, garbage: pendingGarbage, events: [] }
  rejectFrame(scan, "timeout", startMarker.length)
  return finishScan(bytesOf(buffered), scan, settings)
}
