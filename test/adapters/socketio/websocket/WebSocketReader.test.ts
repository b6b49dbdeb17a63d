import { assert, describe, it } from "@effect/vitest"
import { type FrameHandler, WebSocketReader } from "../../../../src/adapters/socketio/websocket/WebSocketReader.ts"
import {
  closeCodes,
  encodeCloseFrame,
  encodeWebSocketFrame,
  opcodes
} from "../../../../src/adapters/socketio/websocket/frames.ts"
import { randomOf } from "../../../fuzz/random.ts"
import { type ClientFrame, clientFrame, closePayload } from "./clientFrames.ts"

const maxMessageBytes = 200_000

/** Reads bytes in chunks that end before these indices, and gives what the reader reports. */
const read = (bytes: Buffer, ends: ReadonlyArray<number> = []) => {
  const events: Array<string> = []
  let isReading = true
  const stop = (event: string) => {
    events.push(event)
    isReading = false
  }
  const handler: FrameHandler = {
    isReading: () => isReading,
    maxMessageBytes: () => maxMessageBytes,
    onMessage: (payload, isText) => events.push(`${isText ? "text" : "binary"} ${payload.toString("latin1")}`),
    onPing: (payload) => events.push(`ping ${payload.toString("latin1")}`),
    onPong: () => events.push("pong"),
    onCloseFrame: (code) => stop(`close ${code}`),
    onViolation: (code) => stop(`violation ${code}`)
  }
  const reader = new WebSocketReader(handler)
  let from = 0
  for (const end of [...ends, bytes.length]) {
    // A reader unmasks in place.
    reader.read(Buffer.from(bytes.subarray(from, end)))
    from = end
  }
  return { events, reader }
}

const { binary, close, continuation, ping, pong, text } = opcodes

const long = "x".repeat(70_000)
const protocolError = [`violation ${closeCodes.protocolError}`]
const invalidText = [`violation ${closeCodes.invalidText}`]
const tooBig = [`violation ${closeCodes.tooBig}`]

type Row = readonly [section: string, title: string, frames: ReadonlyArray<ClientFrame>, events: ReadonlyArray<string>]

/** The rules of RFC 6455 for what a server receives, by section. */
const rules: ReadonlyArray<Row> = [
  ["5.1", "rejects a frame without a mask", [{ opcode: text, payload: "a", mask: undefined }], protocolError],
  ["5.1", "rejects a control frame without a mask", [{ opcode: ping, mask: undefined }], protocolError],
  ["5.2", "rejects the first reserved bit", [{ opcode: text, reserved: 4 }], protocolError],
  ["5.2", "rejects the second reserved bit", [{ opcode: text, reserved: 2 }], protocolError],
  ["5.2", "rejects the third reserved bit", [{ opcode: ping, reserved: 1 }], protocolError],
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(
    (opcode): Row => ["5.2", `rejects the reserved opcode ${opcode}`, [{ opcode }], protocolError]
  ),
  ["5.2", "reads a length of 7 bits", [{ opcode: text, payload: "x".repeat(125) }], [`text ${"x".repeat(125)}`]],
  ["5.2", "reads a length of 16 bits", [{ opcode: text, payload: "x".repeat(126) }], [`text ${"x".repeat(126)}`]],
  [
    "5.2",
    "reads the longest length of 16 bits",
    [{ opcode: text, payload: long.slice(0, 65_535) }],
    [`text ${long.slice(0, 65_535)}`]
  ],
  ["5.2", "reads a length of 64 bits", [{ opcode: text, payload: long }], [`text ${long}`]],
  [
    "5.2",
    "reads a length that is longer than it has to be",
    [{ opcode: text, payload: "a", lengthBytes: 8 }],
    ["text a"]
  ],
  ["5.2", "reads an empty payload", [{ opcode: text }, { opcode: binary }], ["text ", "binary "]],
  [
    "5.3",
    "applies the mask of each frame",
    [
      { opcode: text, payload: "one", mask: [1, 2, 3, 4] },
      { opcode: text, payload: "two", mask: [0, 0, 0, 0] }
    ],
    ["text one", "text two"]
  ],
  [
    "5.4",
    "joins fragments of a text",
    [
      { opcode: text, payload: "a", isFinal: false },
      { opcode: continuation, payload: "b", isFinal: false },
      { opcode: continuation, payload: "c" }
    ],
    ["text abc"]
  ],
  [
    "5.4",
    "joins fragments of binary data",
    [
      { opcode: binary, payload: "a", isFinal: false },
      { opcode: continuation, payload: "b" }
    ],
    ["binary ab"]
  ],
  [
    "5.4",
    "joins empty fragments",
    [{ opcode: text, isFinal: false }, { opcode: continuation, isFinal: false }, { opcode: continuation }],
    ["text "]
  ],
  [
    "5.4",
    "reads control frames between fragments",
    [
      { opcode: text, payload: "a", isFinal: false },
      { opcode: ping, payload: "p" },
      { opcode: pong },
      { opcode: continuation, payload: "b" }
    ],
    ["ping p", "pong", "text ab"]
  ],
  ["5.4", "rejects a continuation without a begin", [{ opcode: continuation, payload: "a" }], protocolError],
  [
    "5.4",
    "rejects a continuation after the end",
    [
      { opcode: text, payload: "a", isFinal: false },
      { opcode: continuation, payload: "b" },
      { opcode: continuation, payload: "c" }
    ],
    ["text ab", ...protocolError]
  ],
  [
    "5.4",
    "rejects a new message within another one",
    [
      { opcode: text, payload: "a", isFinal: false },
      { opcode: text, payload: "b" }
    ],
    protocolError
  ],
  [
    "5.4",
    "limits the sum of the fragments",
    [
      { opcode: text, payload: "x".repeat(150_000), isFinal: false },
      { opcode: continuation, payload: "x".repeat(50_001) }
    ],
    tooBig
  ],
  ["5.5", "rejects fragments of control frames", [{ opcode: ping, isFinal: false }], protocolError],
  ["5.5", "rejects control frames of more than 125 bytes", [{ opcode: ping, payload: "x".repeat(126) }], protocolError],
  ["5.5.1", "reads a close frame without a code", [{ opcode: close }], [`close ${closeCodes.none}`]],
  [
    "5.5.1",
    "reads a close frame with a code and a reason",
    [{ opcode: close, payload: closePayload(1001, "bye ü") }],
    ["close 1001"]
  ],
  ["5.5.1", "rejects half a code", [{ opcode: close, payload: "x" }], protocolError],
  [
    "5.5.1",
    "rejects a reason that is not UTF-8",
    [{ opcode: close, payload: closePayload(1000, Buffer.from([0xff])) }],
    invalidText
  ],
  [
    "5.5.1",
    "reads nothing after a close frame",
    [{ opcode: close }, { opcode: text, payload: "a" }],
    [`close ${closeCodes.none}`]
  ],
  [
    "5.5.2",
    "reads a ping with the longest payload",
    [{ opcode: ping, payload: "x".repeat(125) }],
    [`ping ${"x".repeat(125)}`]
  ],
  ["5.5.3", "reads a pong that nothing requested", [{ opcode: pong, payload: "x" }], ["pong"]],
  ["5.6", "tells binary data from texts", [{ opcode: binary, payload: Buffer.from([0xff]) }], ["binary \u00ff"]],
  [
    "5.6",
    "reads a character that two fragments share",
    [
      { opcode: text, payload: Buffer.from([0xc3]), isFinal: false },
      { opcode: continuation, payload: Buffer.from([0xbc]) }
    ],
    ["text \u00c3\u00bc"]
  ],
  ["5.6", "limits a message", [{ opcode: binary, payload: Buffer.alloc(maxMessageBytes + 1) }], tooBig],
  ...[1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999].map(
    (code): Row => [
      "7.4",
      `accepts the code ${code}`,
      [{ opcode: close, payload: closePayload(code) }],
      [`close ${code}`]
    ]
  ),
  ...[0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535].map(
    (code): Row => ["7.4", `rejects the code ${code}`, [{ opcode: close, payload: closePayload(code) }], protocolError]
  ),
  ...(
    [
      ["an invalid first byte", [0xff]],
      ["a character that ends early", [0xe2, 0x82]],
      ["a character that is longer than it has to be", [0xc0, 0xaf]],
      ["a surrogate", [0xed, 0xa0, 0x80]],
      ["a number above U+10FFFF", [0xf4, 0x90, 0x80, 0x80]]
    ] as const
  ).map(
    ([what, bytes]): Row => [
      "8.1",
      `rejects a text with ${what}`,
      [{ opcode: text, payload: Buffer.from(bytes) }],
      invalidText
    ]
  )
]

describe("the frames of a client (RFC 6455)", () => {
  it.each(rules)("§%s: %s", (_, __, frames, events) => {
    assert.deepStrictEqual(read(Buffer.concat(frames.map(clientFrame))).events, events)
  })

  it.each(rules)("§%s: %s, byte by byte", (_, __, frames, events) => {
    const bytes = Buffer.concat(frames.map(clientFrame))
    // Long payloads arrive byte by byte at their begin and their end.
    const ends = Array.from(bytes.keys()).filter((index) => index < 200 || index > bytes.length - 200)
    assert.deepStrictEqual(read(bytes, ends).events, events)
  })

  it("gives the same messages wherever the network splits them", () => {
    for (let seed = 1; seed <= 300; seed++) {
      const below = randomOf(seed, "frames", 0)
      const messages = Array.from({ length: 1 + below(5) }, () =>
        "x".repeat([below(10), below(300), below(70_000)][below(3)] ?? 0)
      )
      const bytes = Buffer.concat(
        messages.map((payload) =>
          clientFrame({ opcode: text, payload, mask: [below(256), below(256), below(256), below(256)] })
        )
      )
      const ends = Array.from({ length: below(6) }, () => below(bytes.length)).sort((one, other) => one - other)
      assert.deepStrictEqual(
        read(bytes, ends).events.map((event) => event.length),
        messages.map((message) => `text ${message}`.length),
        `seed ${seed}`
      )
    }
  })

  it("rejects a length that no number can hold exactly", () => {
    const header = Buffer.from([0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])
    assert.deepStrictEqual(read(header).events, tooBig)
  })

  it("rejects a frame by its second byte, before the rest arrives", () => {
    assert.deepStrictEqual(read(clientFrame({ opcode: 3, payload: long }).subarray(0, 2)).events, protocolError)
  })

  it("rejects a frame by its length, before the rest arrives", () => {
    const bytes = clientFrame({ opcode: text, payload: "x".repeat(maxMessageBytes + 1) }).subarray(0, 14)
    assert.deepStrictEqual(read(bytes).events, tooBig)
  })
})

describe("the memory of an incomplete message", () => {
  it.each([
    ["a header", clientFrame({ opcode: text, payload: "abc" }).subarray(0, 3), 3],
    ["a payload", clientFrame({ opcode: text, payload: long }).subarray(0, 50_000), 49_000],
    ["fragments", clientFrame({ opcode: text, payload: long, isFinal: false }), 70_000]
  ] as const)("counts %s", (_, bytes, least) => {
    assert.isAtLeast(read(bytes).reader.incompleteBytes(), least)
  })

  it("counts more than nothing for each of many empty fragments", () => {
    const [begin, next] = [text, continuation].map((opcode) => clientFrame({ opcode, isFinal: false }))
    const bytes = Buffer.concat([
      begin ?? Buffer.alloc(0),
      ...Array.from({ length: 1000 }, () => next ?? Buffer.alloc(0))
    ])
    assert.isAbove(read(bytes).reader.incompleteBytes(), 100_000)
  })

  it("is nothing after the message", () => {
    const frames = [
      clientFrame({ opcode: text, payload: long, isFinal: false }),
      clientFrame({ opcode: continuation, payload: long })
    ]
    assert.strictEqual(read(Buffer.concat(frames), [7, 100_000]).reader.incompleteBytes(), 0)
  })
})

describe("the frames of a server", () => {
  it.each([
    [0, "8100"],
    [125, "817d"],
    [126, "817e007e"],
    [65_535, "817effff"],
    [65_536, "817f0000000000010000"]
  ])("has the shortest header for %i bytes, and no mask (§5.1, §5.2)", (length, header) => {
    const bytes = encodeWebSocketFrame(text, "x".repeat(length))
    assert.strictEqual(bytes.subarray(0, bytes.length - length).toString("hex"), header)
  })

  it("closes with a code, or without one (§5.5.1)", () => {
    assert.strictEqual(encodeCloseFrame(1002).toString("hex"), "880203ea")
    assert.strictEqual(encodeCloseFrame(closeCodes.none).toString("hex"), "8800")
  })
})
