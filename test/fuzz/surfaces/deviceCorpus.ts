import { encodeJson } from "../../../src/domain/devices/framing/encoder.ts"
import type { FrameType } from "../../../src/domain/devices/framing/frame.ts"
import { makeDeviceMessage } from "../../../src/domain/devices/deviceMessages.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import type { DeviceService } from "../../../src/domain/devices/serviceDefinitions.ts"
import { words } from "../../domain/devices/frames.ts"
import { sent } from "../../domain/devices/streams.ts"

/** A frame with a text. */
export const frame = (type: FrameType, text: string | Uint8Array, task = "task1234"): Buffer =>
  Buffer.from(sent({ type, task, sequence: 1, payload: typeof text === "string" ? encodeUtf8(text) : text }))

/** A frame with a message. */
const messageFrame = (message: unknown): Buffer => frame("mcp", encodeJson(message), "mcp00001")

const service: DeviceService = {
  description: "does it",
  parameters: {
    type: "object",
    properties: {
      level: { type: "integer", minimum: 0, maximum: 10, enum: [1, 2] },
      on: { type: "boolean" }
    },
    required: ["level"]
  }
}

const messages: ReadonlyArray<unknown> = [
  makeDeviceMessage.register(new Map([["lamp", service]])),
  makeDeviceMessage.register(
    new Map([
      ["lamp", service],
      ["door", { ...service, parameters: { type: "object" } }]
    ])
  ),
  makeDeviceMessage.register(new Map()),
  makeDeviceMessage.call("c1", "lamp", { level: 3 }),
  makeDeviceMessage.result("1", { success: true, data: { on: true } }),
  makeDeviceMessage.result("2", {
    success: true,
    data: [{ type: "image", mimeType: "image/png", base64: "AA==" }]
  }),
  makeDeviceMessage.result("3", { success: false, error: "broken" }),
  makeDeviceMessage.registered(1, ["x"]),
  { type: "result", data: { call_id: 4, result: { error: { code: 1 } } } },
  { type: "else", data: {} },
  { type: "register" }
]

const frames: ReadonlyArray<Buffer> = [
  frame("auth", "secret##name:lamp-1##lang:zh"),
  frame("auth", ""),
  frame("status", "##PING"),
  frame("status", "##INFO:hello"),
  frame("audio", new Uint8Array(64).fill(7)),
  frame("text", "hello"),
  frame("listen", '{"state":"start"}'),
  frame("emoji", '"x"'),
  frame("speak", "x"),
  frame("end", ""),
  ...messages.map(messageFrame)
]

/** Frames of devices, single and in sequence. */
export const deviceFrames: ReadonlyArray<Buffer> = [
  ...frames,
  Buffer.concat(frames.slice(0, 5)),
  Buffer.concat(frames.slice(10)),
  Buffer.from(frames[3]?.toString("latin1").replace("0001", "[0001]") ?? "", "latin1"),
  Buffer.from('{"type":"register","data":{"services":{"a":{},"a":{"description":"x"}}}}')
]

/** Tokens of frames and messages. */
export const deviceWords: ReadonlyArray<string | Buffer> = [
  words.map((word) => Buffer.from(word, "latin1")),
  ["##PING", "##DISCONNECT", "##name:"],
  ['"call_id":', '"services":{', '"type":"call"', '"type":"result"'],
  ['"__proto__":{}', '"constructor":{"description":1}', '"result":{}', '{"toString":1}'],
  ["\\u0023", "\ufeff", "1e999"]
].flat()
