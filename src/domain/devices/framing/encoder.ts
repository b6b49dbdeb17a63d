import { Data, Result } from "effect"
import { defaultFrameLimits, type Frame, type FrameLimits, frameTypes, maxPayloadFor } from "./frame.ts"
import { encodeUtf8 } from "../../utf8.ts"
import { endMarker, hashByte, headerLength, maxSequence, matchMarker, startMarker, taskLength } from "./frameHeader.ts"

/** A frame cannot be encoded: a retry fails again. */
export class FrameEncodeError extends Data.TaggedError("FrameEncodeError")<{
  readonly reason: "invalid_task" | "sequence_out_of_range" | "payload_contains_marker" | "payload_too_large"
  /** The reason as text. Never contains the payload, which can be secret. */
  readonly detail: string
}> {
  override get message(): string {
    return `Frame cannot be encoded: ${this.detail}`
  }
}

/** A space at the end would be padding. */
const printableTask = new RegExp(`^(?:[ -~]{0,${taskLength - 1}}[!-~])?$`)
const markerPattern = /##(?:START|END)/

const containsMarker = (bytes: Uint8Array): boolean => {
  for (let at = bytes.indexOf(hashByte); at !== -1; at = bytes.indexOf(hashByte, at + 1)) {
    if (matchMarker(bytes, at, endMarker) === "yes" || matchMarker(bytes, at, startMarker) === "yes") return true
  }
  return false
}

const reject = (reason: FrameEncodeError["reason"], detail: string) =>
  Result.fail(new FrameEncodeError({ reason, detail }))

/**
 * Encodes a frame for every peer: padded task, four-digit sequence without brackets. The payload of a JSON type must
 * be JSON (see {@link encodeJson}). {@link defaultFrameLimits} apply where a limit is absent.
 */
export const encodeFrame = (
  { payload, sequence, task, type }: Frame,
  limits: Partial<FrameLimits> = {}
): Result.Result<Uint8Array, FrameEncodeError> => {
  if (!printableTask.test(task) || markerPattern.test(task)) {
    const detail = `the task ${JSON.stringify(task)} must be up to ${taskLength} printable ASCII characters without a marker`
    return reject("invalid_task", detail)
  }
  if (!Number.isInteger(sequence) || sequence < 0 || sequence > maxSequence) {
    return reject("sequence_out_of_range", `the sequence ${sequence} must be an integer from 0 to ${maxSequence}`)
  }
  const maxBytes = maxPayloadFor(type, { ...defaultFrameLimits, ...limits })
  if (payload.length > maxBytes) {
    const detail = `a payload of ${payload.length} bytes exceeds the limit of ${maxBytes} bytes for ${type}`
    return reject("payload_too_large", detail)
  }
  if (containsMarker(payload)) {
    return reject("payload_contains_marker", "the payload contains ##START or ##END, which ends a frame")
  }
  const bytes = new Uint8Array(headerLength + payload.length + endMarker.length)
  bytes.set(startMarker)
  bytes[startMarker.length] = frameTypes[type]
  bytes.set(encodeUtf8(`${task.padEnd(taskLength)}${sequence.toString().padStart(4, "0")}`), startMarker.length + 1)
  bytes.set(payload, headerLength)
  bytes.set(endMarker, headerLength + payload.length)
  return Result.succeed(bytes)
}

/**
 * Encodes a value as one line of JSON without markers: a `#` that starts a marker inside a string is escaped.
 * `undefined` becomes null; cycles and bigints throw, as in `JSON.stringify`.
 */
export const encodeJson = (value: unknown): Uint8Array =>
  encodeUtf8((JSON.stringify(value) ?? "null").replace(/#(?=#(?:START|END))/g, String.raw`\u0023`))
