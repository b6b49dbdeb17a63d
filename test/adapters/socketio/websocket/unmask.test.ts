import { createRequire } from "node:module"
import { assert, describe, it } from "@effect/vitest"
import { makeUnmask } from "../../../../src/adapters/socketio/websocket/unmask.ts"
import { randomOf } from "../../../fuzz/random.ts"

type Native = Parameters<typeof makeUnmask>[0]

const { unmask: native } = createRequire(import.meta.url)("bufferutil") as { readonly unmask: Native }

describe.each([
  ["with bufferutil", native],
  ["without bufferutil", undefined]
] as const)("unmasking %s", (_, way) => {
  const unmask = makeUnmask(way)

  it("applies the mask to any part of a buffer, and leaves the rest", () => {
    for (let seed = 1; seed <= 2000; seed++) {
      const below = randomOf(seed, "unmask", 0)
      const bytes = Buffer.from(Array.from({ length: below(400) }, () => below(256)))
      const from = below(bytes.length + 1)
      const to = from + below(bytes.length - from + 1)
      const mask = Buffer.from([9, below(256), below(256), below(256), below(256)])
      const offset = below(10)
      const expected = bytes.map((byte, index) =>
        index < from || index >= to ? byte : byte ^ (mask[1 + ((index - from + offset) % 4)] ?? 0)
      )
      unmask(bytes, from, to, mask, 1, offset)
      assert.isTrue(bytes.equals(expected), `seed ${seed}`)
    }
  })
})
