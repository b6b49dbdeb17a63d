import type { Frame } from "./framing/frame.ts"

/** How many bytes of payload a frame may carry. Both ways: nobody may send what we would not take. */
export interface FrameLimits {
  /** For frames of every type but audio. */
  readonly maxPayloadBytes: number
  readonly maxAudioPayloadBytes: number
}

/**
 * The protocol names no limits. A mebibyte holds any list of services or tool result that a device can use; 64 KiB are
 * two seconds of 16 bit PCM at 16 kHz, many times what one frame of speech carries.
 */
export const defaultFrameLimits: FrameLimits = { maxPayloadBytes: 1_048_576, maxAudioPayloadBytes: 65_536 }

/** The limit for frames of a type. */
export const maxPayloadFor = (type: Frame["type"], limits: FrameLimits): number =>
  type === "audio" ? limits.maxAudioPayloadBytes : limits.maxPayloadBytes
