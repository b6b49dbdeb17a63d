import type { Frame } from "./frame.ts"

/** How many bytes of payload a frame may carry. Both ways: nobody may send what we would not take. */
export interface FrameLimits {
  /** For frames of every type but audio. */
  readonly largest: number
  readonly largestAudio: number
}

/**
 * The protocol names no limits. A mebibyte holds any list of services or tool result that a device can use; 64 KiB are
 * two seconds of 16 bit PCM at 16 kHz, many times what one frame of speech carries.
 */
export const defaultLimits: FrameLimits = { largest: 1_048_576, largestAudio: 65_536 }

/** The limit for frames of a type. */
export const largestPayload = (type: Frame["type"], limits: FrameLimits): number =>
  type === "audio" ? limits.largestAudio : limits.largest
