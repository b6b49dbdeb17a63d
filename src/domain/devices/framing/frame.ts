/** The kinds of frames of the AI降临派 TCP protocol, by the byte that says so on the wire (seed 002 §2, its parent). */
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

/** One frame. What it carries is not looked at. */
export interface Frame {
  readonly type: FrameType
  /** Up to 8 printable ASCII characters, without the spaces that fill it up on the wire. */
  readonly task: string
  /** 0 to 9999. */
  readonly sequence: number
  readonly payload: Uint8Array
}
