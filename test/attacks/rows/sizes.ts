import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Attack } from "../Attack.ts"
import { maxMessageBytes } from "../limits.ts"
import { member, polling, admittedPolling, request, unauthenticated } from "../raw.ts"

/** A request with a body of about so many bytes. */
const large = (bytes: number) => request("absent", { padding: "x".repeat(bytes) })

/** Attacks by size. */
export const sizes: ReadonlyArray<Attack> = [
  {
    attack: "a message over the limit",
    answer: "413; the member stays",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "large")
      const [refused] = yield* agent.request("client:get_tools", large(maxMessageBytes))
      assert.deepInclude(refused, { code: 413, message: `Message larger than ${maxMessageBytes} bytes` })
      const [answer] = yield* agent.request("client:get_tools", request("absent"))
      assert.deepInclude(answer, { code: 404 })
    })
  },
  {
    attack: "a message of more than twice the limit",
    answer: "closed; by polling 413 as HTTP",
    run: Effect.gen(function* () {
      const agent = yield* member("agent", "mallory", "large")
      agent.send(`42/smcp,1["client:get_tools",${JSON.stringify(large(2 * maxMessageBytes + 5000))}]`)
      yield* agent.closed
      const session = yield* admittedPolling("agent")
      assert.include([413, 0], yield* session.post("4".padEnd(2 * maxMessageBytes + 5000, "x")))
      yield* session.post("1")
    })
  },
  {
    attack: "more than 64 KiB before admission",
    answer: "closed; by polling 413 as HTTP",
    run: Effect.gen(function* () {
      const oversized = yield* unauthenticated
      oversized.send(`40/smcp,{"role":"agent","token":"${"x".repeat(100_000)}"}`)
      yield* oversized.closed
      // The header of a frame of four million bytes, and a part of them.
      const slow = yield* unauthenticated
      const part = Buffer.alloc(14 + 80_000)
      part.set([0x81, 0xff])
      part.writeBigUInt64BE(4_000_000n, 2)
      // Only the socket below can send a part of a frame.
      ;(slow.socket as unknown as { _socket: { write: (bytes: Buffer) => void } })._socket.write(part)
      yield* slow.closed
      const session = yield* polling
      assert.include([413, 0], yield* session.post("4".padEnd(100_000, "x")))
      yield* session.post("1")
    })
  }
]
