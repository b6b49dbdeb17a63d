/** Frame types of the AI降临派 TCP protocol by their byte on the wire (seed 002: parent protocol, §2). */
export const frameTypes = {
  auth: 1,
  audio: 2,
  end: 3,
  text: 4,
  status: 5,
  mcp: 6,
  speak: 7,
  listen: 8,
  emoji: 9
} as const

export type FrameType = keyof typeof frameTypes

/** One frame; its payload is not parsed. */
export interface Frame {
  readonly type: FrameType
  /** Up to 8 printable ASCII characters, without the padding of the wire. */
  readonly task: string
  /** 0 to 9999. */
  readonly sequence: number
  readonly payload: Uint8Array
}

/** Maximum payload sizes of frames, in bytes, for both directions. `maxPayloadBytes` is for all types except audio. */
export interface FrameLimits {
  readonly maxPayloadBytes: number
  readonly maxAudioPayloadBytes: number
}

/**
 * Default limits; the protocol names none. 1 MiB holds any list of services or tool result for a device. 64 KiB are two
 * seconds of 16-bit PCM at 16 kHz, many times the content of one speech frame.
 */
export const defaultFrameLimits: FrameLimits = { maxPayloadBytes: 1_048_576, maxAudioPayloadBytes: 65_536 }

export const maxPayloadFor = (type: FrameType, limits: FrameLimits): number =>
  type === "audio" ? limits.maxAudioPayloadBytes : limits.maxPayloadBytes
