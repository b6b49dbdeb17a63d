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

/** Why a frame was given up: a header that is none, another frame began within it, too many bytes, or no end came. */
export type InvalidFrameReason = "header" | "unterminated" | "oversize" | "stalled"

/** What was found in the stream. */
export type DecoderEvent =
  /** `bracketed`: the sequence stood in brackets, as some documents show it. */
  | { readonly _tag: "Frame"; readonly frame: Frame; readonly bracketed: boolean }
  /** A frame was given up, and the search for the next one goes on. Its bytes count as garbage. */
  | { readonly _tag: "BadFrame"; readonly reason: InvalidFrameReason }
  /** So many bytes since the last frame belong to no frame. Comes right before the next frame. */
  | { readonly _tag: "Garbage"; readonly bytes: number }

/** How to decode. Limits left out are the usual ones. */
export interface DecoderOptions extends Partial<FrameLimits> {
  /**
   * `strict`, the usual: the end of JSON is found by its strings, and frames that were cut off are noticed. `naive`: the
   * first end marker ends any frame, as simple peers read it.
   */
  readonly framing?: "strict" | "naive"
}

interface DecoderSettings extends FrameLimits {
  readonly framing: "strict" | "naive"
}

/** A frame whose header has been read. Places are counted from its start marker. */
interface PartialFrame extends PayloadPosition {
  readonly header: Header
}

/** Where the decoding of a stream stands. A value that never changes, to be used with {@link decodeChunk}. */
export interface DecoderState {
  readonly settings: DecoderSettings
  /** What began and has not ended: from a start marker on, or from the first bytes of what may become one. */
  readonly buffered: ByteBuffer
  readonly partial: PartialFrame | undefined
  /** How many bytes of garbage have not been told yet, because no frame came after them. */
  readonly pendingGarbage: number
}

const jsonFrameTypes: ReadonlySet<FrameType> = new Set(["mcp", "listen", "emoji"])

const initialPayloadMode = (type: FrameType, { framing }: DecoderSettings): PayloadMode => {
  if (framing === "naive") return "first"
  return jsonFrameTypes.has(type) ? "outside" : "plain"
}

/** The state before the first byte of a stream. */
export const initialDecoderState = ({
  framing = "strict",
  ...limits
}: DecoderOptions = {}): DecoderState => ({
  settings: { framing, ...defaultFrameLimits, ...limits },
  buffered: emptyBuffer,
  partial: undefined,
  pendingGarbage: 0
})

/** How many bytes of the stream a state keeps. Never more than {@link maxBufferedBytes}. */
export const bufferedBytes = (state: DecoderState): number => state.buffered.length

/**
 * The most bytes that a state ever keeps: a header, the largest payload, and the beginning of a header after it, as long
 * as it is not known whether it is one.
 */
export const maxBufferedBytes = (limits: FrameLimits): number =>
  maxHeaderLength + Math.max(limits.maxPayloadBytes, limits.maxAudioPayloadBytes) + maxHeaderLength - 1

/** Has a frame begun that has not ended? What may only become a start marker does not count, nor does garbage. */
export const hasPartialFrame = (state: DecoderState): boolean =>
  state.partial !== undefined || bufferedBytes(state) >= startMarker.length

/** Where the next start marker stands, or the beginning of one at the very end; the end when there is neither. */
const findStartMarker = (bytes: Uint8Array, from: number): number => {
  let at = bytes.indexOf(hashByte, from)
  while (at !== -1 && matchMarker(bytes, at, startMarker) === "no") at = bytes.indexOf(hashByte, at + 1)
  return at === -1 ? bytes.length : at
}

/** What is known while bytes are read. Changes as the reading goes on, and never leaves the step it belongs to. */
interface ScanState {
  /** What began and has not ended begins here; whatever stands before it is done with. */
  frameStart: number
  partial: PartialFrame | undefined
  garbage: number
  readonly events: Array<DecoderEvent>
}

const rejectFrame = (scan: ScanState, reason: InvalidFrameReason, resumeAt: number): void => {
  scan.events.push({ _tag: "BadFrame", reason })
  scan.garbage += resumeAt - scan.frameStart
  scan.frameStart = resumeAt
  scan.partial = undefined
}

const emitFrame = (bytes: Uint8Array, scan: ScanState, header: Header, end: number): void => {
  const { bracketed, sequence, size, task, type } = header
  const payload = bytes.subarray(scan.frameStart + size, end)
  if (scan.garbage > 0) scan.events.push({ _tag: "Garbage", bytes: scan.garbage })
  scan.events.push({ _tag: "Frame", frame: { type, task, sequence, payload }, bracketed })
  scan.garbage = 0
  scan.frameStart = end + endMarker.length
  scan.partial = undefined
}

/** Searches for the header of the next frame; none when the bytes end before it does. */
const findHeader = (
  bytes: Uint8Array,
  scan: ScanState,
  settings: DecoderSettings
): PartialFrame | undefined => {
  for (;;) {
    const start = findStartMarker(bytes, scan.frameStart)
    scan.garbage += start - scan.frameStart
    scan.frameStart = start
    const match = matchHeader(bytes, start)
    if (match === "cut") return undefined
    const header = match === "yes" ? parseHeader(bytes, start) : undefined
    if (header !== undefined)
      return { header, offset: header.size, mode: initialPayloadMode(header.type, settings) }
    rejectFrame(scan, "header", start + startMarker.length)
  }
}

/** Reads until the bytes say no more. */
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
    switch (outcome) {
      case "end":
        emitFrame(bytes, scan, header, offset)
        break
      case "start":
        rejectFrame(scan, "unterminated", offset)
        break
      case "oversize":
        rejectFrame(scan, "oversize", offset)
        break
      case "open":
        scan.partial = { header, offset: offset - scan.frameStart, mode }
        return
    }
  }
}

/**
 * Reads the next piece of a stream. Never fails, and takes time proportional to the piece. However a stream is cut into
 * pieces, the events of all of them together are the same.
 *
 * Payloads may share memory with the piece, which therefore must not be written to afterwards.
 */
export const decodeChunk = (
  { partial, pendingGarbage, buffered, settings }: DecoderState,
  chunk: Uint8Array
): readonly [DecoderState, ReadonlyArray<DecoderEvent>] => {
  const buffer = buffered.length === 0 ? undefined : appendBytes(buffered, chunk, maxBufferedBytes(settings))
  // A view of its own, since subclasses of Uint8Array have ideas of their own about what their methods do.
  const bytes =
    buffer === undefined ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length) : bytesOf(buffer)
  const scan: ScanState = { frameStart: 0, partial, garbage: pendingGarbage, events: [] }
  scanChunk(bytes, scan, settings)
  const remaining =
    scan.frameStart === 0 && buffer !== undefined ? buffer : copyToBuffer(bytes.subarray(scan.frameStart))
  return [{ settings, buffered: remaining, partial: scan.partial, pendingGarbage: scan.garbage }, scan.events]
}

/**
 * Gives up the frame that has begun, for whoever has waited long enough for its end (see {@link hasPartialFrame}). What is
 * held of it is searched for other frames. Does nothing when no frame has begun.
 */
export const dropPartialFrame = (
  state: DecoderState
): readonly [DecoderState, ReadonlyArray<DecoderEvent>] => {
  if (!hasPartialFrame(state)) return [state, []]
  const { pendingGarbage, buffered, settings } = state
  const bytes = bytesOf(buffered)
  const scan: ScanState = { frameStart: 0, partial: undefined, garbage: pendingGarbage, events: [] }
  rejectFrame(scan, "stalled", startMarker.length)
  scanChunk(bytes, scan, settings)
  const remaining = copyToBuffer(bytes.subarray(scan.frameStart))
  return [{ settings, buffered: remaining, partial: scan.partial, pendingGarbage: scan.garbage }, scan.events]
}
