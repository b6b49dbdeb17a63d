import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { PartWriter } from "../../../../src/adapters/tcp/transport/PartWriter.ts"
import { until } from "../../../until.ts"

const mebibyte = 1024 * 1024

/** A writer, and the socket at the other end, which reads nothing. */
const pair = Effect.gen(function* () {
  const server = createServer({ pauseOnConnect: true })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )
  const accepted = Effect.callback<Socket>((resume) => void server.once("connection", (s) => resume(Effect.succeed(s))))
  const near = yield* Effect.acquireRelease(
    Effect.sync(() => connect((server.address() as AddressInfo).port, "127.0.0.1")),
    (socket) => Effect.sync(() => socket.destroy())
  )
  const far = yield* Effect.acquireRelease(accepted, (socket) => Effect.sync(() => socket.destroy()))
  near.on("error", () => undefined)
  return { far, near, writer: new PartWriter(near) }
})

describe("a writer of parts", () => {
  it.live("counts the parts of one write that the network has taken", () =>
    Effect.gen(function* () {
      const { writer } = yield* pair
      writer.write(Buffer.alloc(32 * mebibyte))
      yield* until(() => writer.sentBytes > 0)
      assert.isBelow(writer.sentBytes, 32 * mebibyte)
    })
  )

  it.live("keeps the order of its bytes, and ends the socket after them", () =>
    Effect.gen(function* () {
      const { far, writer } = yield* pair
      const large = Buffer.from("0123456789".repeat(mebibyte))
      for (const chunk of [Buffer.from("a"), large, Buffer.from("b")]) writer.write(chunk)
      writer.end(Buffer.from("c"))
      const chunks: Array<Buffer> = []
      far.on("data", (chunk) => void chunks.push(chunk)).resume()
      yield* Effect.callback<void>((resume) => void far.once("end", () => resume(Effect.void)))
      assert.isTrue(Buffer.concat(chunks).equals(Buffer.concat([Buffer.from("a"), large, Buffer.from("bc")])))
      assert.strictEqual(writer.sentBytes, large.length + 3)
    })
  )

  it.live("is destroyed with its socket", () =>
    Effect.gen(function* () {
      const { near, writer } = yield* pair
      writer.write(Buffer.alloc(32 * mebibyte))
      near.destroy()
      yield* until(() => writer.destroyed)
    })
  )
})
