import { Result, Schema } from "effect"
import { encodeFrame, encodeJson } from "../../../src/domain/devices/framing/encoder.ts"
import type { Frame, FrameType } from "../../../src/domain/devices/framing/frame.ts"
import type { ByteBuffer } from "../../../src/domain/devices/framing/byteBuffer.ts"
import { latin1 } from "./streams.ts"

/** Memory that a buffer reserves, in bytes. */
export const capacity = ({ store }: ByteBuffer): number => store.memory.length

/** All frame types, in the order of their bytes. */
export const types = ["auth", "audio", "end", "text", "status", "mcp", "speak", "listen", "emoji"] as const

export const jsonTypes: ReadonlySet<FrameType> = new Set(["mcp", "listen", "emoji"])

/** Tokens that framing rules distinguish, and some that they do not; one character per byte. */
export const words = [
  "#",
  "##",
  "##START",
  "##END",
  "##START\x06mcp000010000",
  "##START\x04task12340001",
  "##START\x02task1234[0002]",
  "##STAR",
  "##EN",
  "\x04",
  "\x06",
  "\n",
  "task1234",
  "mcp00001",
  "0000",
  "[0001]",
  "[000",
  '"',
  "\\",
  "{",
  "}",
  "D",
  "T",
  "x",
  "\xff"
] as const

/** A stream made of {@link words}. */
export const Stream = Schema.Array(Schema.Literals(words))

/** A frame, valid or not. */
export const Draft = Schema.Struct({
  type: Schema.Literals(types),
  task: Schema.Literals(["", "a", "task1234", "mcp00001", "00000000", "##", " x##EN", "~"]),
  sequence: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9999 })),
  content: Stream
})

/** The valid frames among drafts. */
export const sendable = (drafts: ReadonlyArray<typeof Draft.Type>): ReadonlyArray<Frame> =>
  drafts
    .map(
      ({ content, ...head }): Frame => ({
        ...head,
        payload: jsonTypes.has(head.type) ? encodeJson({ content }) : latin1(content.join(""))
      })
    )
    .filter((frame) => Result.isSuccess(encodeFrame(frame)))

/** Chunk lengths, repeated until the end of the stream. */
export const Lengths = Schema.NonEmptyArray(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 40 })))

/** Cycles through the lengths. */
export const cycle = (lengths: ReadonlyArray<number>): (() => number) => {
  let turn = 0
  return () => lengths[turn++ % lengths.length] ?? 1
}
