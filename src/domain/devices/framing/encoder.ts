import { Data, Result } from "effect"
import { defaultFrameLimits, type Frame, type FrameLimits, frameTypes, maxPayloadFor } from "./frame.ts"
import { encodeUtf8 } from "../../utf8.ts"
import {
  endMarker,
  hashByte,
  headerLength,
  maxSequence,
  matchMarker,
  startMarker,
  taskLength
} from "./frameHeader.ts"

/**
 * A frame that cannot be sent, and why: its task or its sequence is none, its payload holds a marker, at which peers
 * would cut it, or its payload is larger than the limit. Trying again does not help.
 */
export class FrameEncodeError extends Data.TaggedError("FrameEncodeError")<{
  readonly reason: "invalid_task" | "sequence_out_of_range" | "payload_contains_marker" | "payload_too_large"
  /** The reason in words. Never says what a payload holds, which may be secret. */
  readonly detail: string
}> {
  override get message(): string {
    return `Frame cannot be sent: ${this.detail}`
  }
}

const printableTask = new RegExp(`^[ -~]{0,${taskLength}}$`)
const markerPattern = /##(?:START|END)/

const containsMarker = (bytes: Uint8Array): boolean => {
  for (let at = bytes.indexOf(hashByte); at !== -1; at = bytes.indexOf(hashByte, at + 1)) {
    if (matchMarker(bytes, at, endMarker) === "yes" || matchMarker(bytes, at, startMarker) === "yes")
      return true
  }
  return false
}

const findViolation = (
  { payload, sequence, task, type }: Frame,
  limits: FrameLimits
): { readonly reason: FrameEncodeError["reason"]; readonly detail: string } | undefined => {
  if (!printableTask.test(task) || markerPattern.test(task)) {
    const detail = `the task ${JSON.stringify(task)} is not up to ${taskLength} printable ASCII characters without a marker`
    return { reason: "invalid_task", detail }
  }
  if (!Number.isInteger(sequence) || sequence < 0 || sequence > maxSequence) {
    return { reason: "sequence_out_of_range", detail: `the sequence ${sequence} is not 0 to ${maxSequence}` }
  }
  const maxBytes = maxPayloadFor(type, limits)
  if (payload.length > maxBytes) {
    const detail = `a payload of ${payload.length} bytes is larger than the ${maxBytes} that ${type} may have`
    return { reason: "payload_too_large", detail }
  }
  if (!containsMarker(payload)) return undefined
  return {
    reason: "payload_contains_marker",
    detail: "the payload holds ##START or ##END, where peers would cut it"
  }
}

/**
 * The bytes of a frame as every peer understands them: a short task filled up with spaces, four digits of sequence, no
 * brackets, and no marker but the two of the frame. The payload of a JSON type must be JSON (see {@link encodeJson}).
 * Limits left out are the usual ones.
 */
export const encodeFrame = (
  frame: Frame,
  limits: Partial<FrameLimits> = {}
): Result.Result<Uint8Array, FrameEncodeError> => {
  const violation = findViolation(frame, { ...defaultFrameLimits, ...limits })
  if (violation !== undefined) return Result.fail(new FrameEncodeError(violation))
  const { payload, sequence, task, type } = frame
  const bytes = new Uint8Array(headerLength + payload.length + endMarker.length)
  bytes.set(startMarker)
  bytes[startMarker.length] = frameTypes[type]
  bytes.set(
    encodeUtf8(`${task.padEnd(taskLength)}${sequence.toString().padStart(4, "0")}`),
    startMarker.length + 1
  )
  bytes.set(payload, headerLength)
  bytes.set(endMarker, headerLength + payload.length)
  return Result.succeed(bytes)
}

/**
 * A value as JSON on one line that holds neither marker: a `#` that begins one inside a string is written as an escape,
 * which every parser of JSON reads as the same text. What JSON cannot say becomes what `JSON.stringify` makes of it, and
 * nothing at all becomes null; cycles and bigints throw, as they do there.
 */
export const encodeJson = (value: unknown): Uint8Array =>
  encodeUtf8((JSON.stringify(value) ?? "null").replace(/#(?=#(?:START|END))/g, String.raw`\u0023`))
