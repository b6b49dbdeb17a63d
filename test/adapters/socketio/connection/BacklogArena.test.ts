import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { BacklogArena } from "../../../../src/adapters/socketio/connection/BacklogArena.ts"
import { OutboundMessage } from "../../../../src/adapters/socketio/connection/OutboundMessage.ts"

const mebibyte = 1024 * 1024

/** Stores a frame; memory is never short in these tests. */
const store = (arena: BacklogArena, ...parts: ReadonlyArray<Buffer>) => {
  const stored = arena.store(
    parts,
    parts.reduce((sum, { length }) => sum + length, 0)
  )
  assert.isDefined(stored)
  return stored
}

const frame = (text: string, length = 64 * 1024) => Buffer.alloc(length, text)

describe("BacklogArena", () => {
  it("keeps the bytes of a frame when the original changes", () => {
    const original = Buffer.from("你好, ")
    const { bytes } = store(new BacklogArena(), original, Buffer.from([0, 255, 128]))
    original.fill(0)
    assert.deepStrictEqual([...bytes], [...Buffer.from("你好, "), 0, 255, 128])
  })

  it("keeps an empty frame", () => {
    const { bytes, release } = store(new BacklogArena())
    assert.strictEqual(bytes.length, 0)
    release()
  })

  it("packs short frames into one block without overlap", () => {
    const arena = new BacklogArena()
    const frames = Array.from({ length: 16 }, (_, index) => store(arena, frame(String.fromCodePoint(97 + index))))
    assert.strictEqual(new Set(frames.map(({ bytes }) => bytes.buffer)).size, 1)
    for (const [index, { bytes }] of frames.entries())
      assert.isTrue(bytes.equals(frame(String.fromCodePoint(97 + index))))
  })

  it("starts another block for a frame that does not fit", () => {
    const arena = new BacklogArena()
    const first = store(arena, frame("a", mebibyte - 10))
    const second = store(arena, frame("b", 11))
    assert.notStrictEqual(first.bytes.buffer, second.bytes.buffer)
    assert.isTrue(second.bytes.equals(frame("b", 11)))
  })

  it("maps a frame that is larger than a block alone, without unused bytes", () => {
    const { bytes } = store(new BacklogArena(), frame("a", 3 * mebibyte))
    assert.strictEqual(bytes.buffer.byteLength, 3 * mebibyte)
  })

  it("frees a block with the release of its last frame, in any order", () => {
    const arena = new BacklogArena()
    const [one, two, three] = ["a", "b", "c"].map((text) => store(arena, frame(text)))
    two?.release()
    three?.release()
    assert.isTrue(one?.bytes.equals(frame("a")))
    const memory = one?.bytes.buffer
    one?.release()
    assert.strictEqual(memory?.byteLength, 0)
  })

  it("counts a repeated release once", () => {
    const arena = new BacklogArena()
    const first = store(arena, frame("a"))
    const second = store(arena, frame("b"))
    first.release()
    first.release()
    assert.isTrue(second.bytes.equals(frame("b")))
  })

  it("stores frames in new memory after the release of all others", () => {
    const arena = new BacklogArena()
    store(arena, frame("a")).release()
    assert.isTrue(store(arena, frame("b")).bytes.equals(frame("b")))
  })

  it("keeps the frames of an earlier block while it frees a later one", () => {
    const arena = new BacklogArena()
    const early = store(arena, frame("a", mebibyte))
    const late = store(arena, frame("b", mebibyte))
    late.release()
    assert.isTrue(early.bytes.equals(frame("a", mebibyte)))
    assert.strictEqual(late.bytes.length, 0)
  })

  it("returns the memory to the system without a collection of garbage", () => {
    const module = new URL("../../../../src/adapters/socketio/connection/BacklogArena.ts", import.meta.url).href
    const program = `
      import { BacklogArena } from "${module}"
      const arena = new BacklogArena()
      const mebibyte = 1024 * 1024
      const resident = () => process.memoryUsage.rss() / mebibyte
      const original = Buffer.alloc(mebibyte, "x")
      const before = resident()
      const frames = Array.from({ length: 128 }, () => arena.store([original], mebibyte))
      const full = resident() - before
      for (const { release } of frames) release()
      console.log(JSON.stringify([full, resident() - before]))
    `
    const flags = ["--input-type=module", "--eval", program]
    const [full = 0, freed = 0] = JSON.parse(
      execFileSync(process.execPath, flags, { encoding: "utf8" })
    ) as ReadonlyArray<number>
    assert.isAbove(full, 100)
    assert.isBelow(freed, 32)
  })
})

describe("a queued message in an arena", () => {
  const message = (tail: string) =>
    new OutboundMessage('2/smcp,["x",', Buffer.from(tail), { onDequeued: () => undefined })

  it("has the same text and frame as outside of it", () => {
    for (const tail of ['"你好"]', `"${"x".repeat(70_000)}"]`]) {
      const stored = message(tail).compact(new BacklogArena())
      assert.strictEqual(stored.text(), message(tail).text())
      assert.isTrue(Buffer.concat(stored.frame()).equals(Buffer.concat(message(tail).frame())))
    }
  })

  it("gives its memory back when it is released", () => {
    const queued = message(`"${"x".repeat(70_000)}"]`).compact(new BacklogArena())
    const [, body] = queued.payload()
    queued.release?.()
    assert.strictEqual(body?.buffer.byteLength, 0)
  })

  it("leaves it unchanged", () => {
    const tail = `"${"x".repeat(70_000)}"]`
    const moved = message(tail).compact(new BacklogArena()).leaveArena()
    assert.isTrue(Buffer.concat(moved.frame()).equals(Buffer.concat(message(tail).frame())))
    assert.isUndefined(moved.release)
  })
})
