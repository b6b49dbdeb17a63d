import type { Frame, FrameType } from "./frame.ts"
import { append, type Held, hold, nothing, view } from "./held.ts"
import { defaultLimits, type FrameLimits, largestPayload } from "./limits.ts"
import { type Mode, type Reading, search } from "./payload.ts"
import {
  endMarker,
  hash,
  type Header,
  longestHeader,
  matchHeader,
  matchMarker,
  readHeader,
  startMarker
} from "./wire.ts"

/** Why a frame was given up: a header that is none, another frame began within it, too many bytes, or no end came. */
export type BadFrameReason = "header" | "unterminated" | "oversize" | "stalled"

/** What was found in the stream. */
export type DecoderEvent =
  /** `bracketed`: the sequence stood in brackets, as some documents show it. */
  | { readonly _tag: "Frame"; readonly frame: Frame; readonly bracketed: boolean }
  /** A frame was given up, and the search for the next one goes on. Its bytes count as garbage. */
  | { readonly _tag: "BadFrame"; readonly reason: BadFrameReason }
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

interface Settings extends FrameLimits {
  readonly framing: "strict" | "naive"
}

/** A frame whose header has been read. Places are counted from its start marker. */
interface Begun extends Reading {
  readonly header: Header
}

/** Where the decoding of a stream stands. A value that never changes, to be used with {@link step}. */
export interface DecoderState {
  readonly settings: Settings
  /** What began and has not ended: from a start marker on, or from the first bytes of what may become one. */
  readonly held: Held
  readonly begun: Begun | undefined
  /** How many bytes of garbage have not been told yet, because no frame came after them. */
  readonly garbage: number
}

const jsonTypes: ReadonlySet<FrameType> = new Set(["mcp", "listen", "emoji"])

const initialMode = (type: FrameType, { framing }: Settings): Mode => {
  if (framing === "naive") return "first"
  return jsonTypes.has(type) ? "outside" : "plain"
}

/** The state before the first byte of a stream. */
export const initialDecoder = ({ framing = "strict", ...limits }: DecoderOptions = {}): DecoderState => ({
  settings: { framing, ...defaultLimits, ...limits },
  held: nothing,
  begun: undefined,
  garbage: 0
})

/** How many bytes of the stream a state keeps. Never more than {@link mostHeld}. */
export const heldBytes = (state: DecoderState): number => state.held.length

/**
 * The most bytes that a state ever keeps: a header, the largest payload, and the beginning of a header after it, as long
 * as it is not known whether it is one.
 */
export const mostHeld = (limits: FrameLimits): number =>
  longestHeader + Math.max(limits.largest, limits.largestAudio) + longestHeader - 1

/** Has a frame begun that has not ended? What may only become a start marker does not count, nor does garbage. */
export const isIncomplete = (state: DecoderState): boolean =>
  state.begun !== undefined || heldBytes(state) >= startMarker.length

/** Where the next start marker stands, or the beginning of one at the very end; the end when there is neither. */
const findStart = (bytes: Uint8Array, from: number): number => {
  let at = bytes.indexOf(hash, from)
  while (at !== -1 && matchMarker(bytes, at, startMarker) === "no") at = bytes.indexOf(hash, at + 1)
  return at === -1 ? bytes.length : at
}

/** What is known while bytes are read. Changes as the reading goes on, and never leaves the step it belongs to. */
interface Progress {
  /** What began and has not ended begins here; whatever stands before it is done with. */
  start: number
  begun: Begun | undefined
  garbage: number
  readonly events: Array<DecoderEvent>
}

const giveUp = (progress: Progress, reason: BadFrameReason, searchOn: number): void => {
  progress.events.push({ _tag: "BadFrame", reason })
  progress.garbage += searchOn - progress.start
  progress.start = searchOn
  progress.begun = undefined
}

const finish = (bytes: Uint8Array, progress: Progress, header: Header, end: number): void => {
  const { bracketed, sequence, size, task, type } = header
  const payload = bytes.subarray(progress.start + size, end)
  if (progress.garbage > 0) progress.events.push({ _tag: "Garbage", bytes: progress.garbage })
  progress.events.push({ _tag: "Frame", frame: { type, task, sequence, payload }, bracketed })
  progress.garbage = 0
  progress.start = end + endMarker.length
  progress.begun = undefined
}

/** Searches for the header of the next frame; none when the bytes end before it does. */
const begin = (bytes: Uint8Array, progress: Progress, settings: Settings): Begun | undefined => {
  for (;;) {
    const at = findStart(bytes, progress.start)
    progress.garbage += at - progress.start
    progress.start = at
    const match = matchHeader(bytes, at)
    if (match === "cut") return undefined
    const header = match === "yes" ? readHeader(bytes, at) : undefined
    if (header !== undefined) return { header, at: header.size, mode: initialMode(header.type, settings) }
    giveUp(progress, "header", at + startMarker.length)
  }
}

/** Reads until the bytes say no more. */
const read = (bytes: Uint8Array, progress: Progress, settings: Settings): void => {
  for (;;) {
    const begun = progress.begun ?? begin(bytes, progress, settings)
    if (begun === undefined) return
    const { header } = begun
    const last = progress.start + header.size + largestPayload(header.type, settings)
    const { at, found, mode } = search(bytes, { at: progress.start + begun.at, mode: begun.mode }, last)
    switch (found) {
      case "end":
        finish(bytes, progress, header, at)
        break
      case "start":
        giveUp(progress, "unterminated", at)
        break
      case "oversize":
        giveUp(progress, "oversize", at)
        break
      case "open":
        progress.begun = { header, at: at - progress.start, mode }
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
export const step = (
  { begun, garbage, held, settings }: DecoderState,
  chunk: Uint8Array
): readonly [DecoderState, ReadonlyArray<DecoderEvent>] => {
  const kept = held.length === 0 ? undefined : append(held, chunk, mostHeld(settings))
  // A view of its own, since subclasses of Uint8Array have ideas of their own about what their methods do.
  const bytes = kept === undefined ? new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length) : view(kept)
  const progress: Progress = { start: 0, begun, garbage, events: [] }
  read(bytes, progress, settings)
  const rest = progress.start === 0 && kept !== undefined ? kept : hold(bytes.subarray(progress.start))
  return [{ settings, held: rest, begun: progress.begun, garbage: progress.garbage }, progress.events]
}

/**
 * Gives up the frame that has begun, for whoever has waited long enough for its end (see {@link isIncomplete}). What is
 * held of it is searched for other frames. Does nothing when no frame has begun.
 */
export const stalled = (state: DecoderState): readonly [DecoderState, ReadonlyArray<DecoderEvent>] => {
  if (!isIncomplete(state)) return [state, []]
  const { garbage, held, settings } = state
  const bytes = view(held)
  const progress: Progress = { start: 0, begun: undefined, garbage, events: [] }
  giveUp(progress, "stalled", startMarker.length)
  read(bytes, progress, settings)
  const rest = hold(bytes.subarray(progress.start))
  return [{ settings, held: rest, begun: progress.begun, garbage: progress.garbage }, progress.events]
}
