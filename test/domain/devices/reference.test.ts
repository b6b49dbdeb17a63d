import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { encodeFrame } from "../../../src/domain/devices/framing/encoder.ts"
import { frameTypes } from "../../../src/domain/devices/framing/frame.ts"

const text = readFileSync("docs/devices.md", "utf8")

describe("the reference of frames in docs/devices.md", () => {
  it("has the byte of every type", () => {
    const rows = [...text.matchAll(/^\| `(\w+)` \| `([\da-f]{2})` \|/gm)]
    assert.deepStrictEqual(
      rows.map(([, name, byte = ""]) => [name, Number.parseInt(byte, 16)]),
      Object.entries(frameTypes)
    )
  })

  it("has one complete frame in hexadecimal", () => {
    const parts = [...text.matchAll(/^\| \w+ \| `([\da-f]{2}(?: [\da-f]{2})*)` \|/gm)].map(([, bytes = ""]) => bytes)
    const bytes = parts.join(" ").split(" ")
    const encoded = encodeFrame({
      type: "status",
      task: "lamp-1",
      sequence: 7,
      payload: new TextEncoder().encode("##PING")
    })
    assert.deepStrictEqual(
      Result.map(encoded, (frame) => Buffer.from(frame).toString("hex")),
      Result.succeed(bytes.join(""))
    )
    assert.include(text, `has these ${bytes.length} bytes`)
  })
})
