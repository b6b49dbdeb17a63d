import { assert, describe, it } from "@effect/vitest"
import {
  firstFragment,
  MessageReader,
  MessageWriter,
  frameKinds,
  lastFragment
} from "../../../../src/adapters/redis/nodelink/messageFormat.ts"
import { ByteBudget } from "../../../../src/adapters/redis/nodelink/ByteBudget.ts"
import { FrameReassembler, maxReassemblyBytes } from "../../../../src/adapters/redis/nodelink/FrameReassembler.ts"

const mib = 1024 * 1024

/** A fragment of a frame. `fieldBytes` includes the kind. */
const fragment = (id: number, flags: number, promised: number, text = "", fieldBytes = 1): MessageReader => {
  const writer = new MessageWriter(Buffer.alloc(fieldBytes + text.length + 64)).u32(id).u8(flags)
  if ((flags & firstFragment) !== 0) {
    writer.u32(fieldBytes).bytes(Buffer.alloc(fieldBytes, frameKinds.notify)).u32(promised)
  }
  writer.content(text)
  return new MessageReader(writer.buffer.subarray(0, writer.length))
}

const begin = (reassembler: FrameReassembler, id: number, promised: number) =>
  reassembler.onFragment(fragment(id, firstFragment, promised, "x"))

const plenty = () => new ByteBudget(Number.MAX_SAFE_INTEGER)

describe("FrameReassembler", () => {
  it("reassembles interleaved frames", () => {
    const reassembler = new FrameReassembler(mib, plenty())
    assert.isUndefined(reassembler.onFragment(fragment(1, firstFragment, 4, "ab")))
    assert.isUndefined(reassembler.onFragment(fragment(2, firstFragment, 4, "wx")))
    assert.strictEqual(reassembler.size, 2)
    const [two, one] = [
      reassembler.onFragment(fragment(2, lastFragment, 0, "yz")),
      reassembler.onFragment(fragment(1, lastFragment, 0, "cd"))
    ]
    assert.deepStrictEqual([one?.tail?.toString(), two?.tail?.toString()], ["abcd]", "wxyz]"])
    assert.deepStrictEqual([one?.kind, reassembler.size], [frameKinds.notify, 0])
  })

  it("drops frames without a first fragment, and with another length than announced", () => {
    const reassembler = new FrameReassembler(mib, plenty())
    assert.isUndefined(reassembler.onFragment(fragment(1, lastFragment, 0, "ab")))
    for (const text of ["abc", "a"]) {
      assert.isUndefined(reassembler.onFragment(fragment(1, firstFragment | lastFragment, 2, text)))
      assert.strictEqual(reassembler.size, 0)
    }
  })

  it("rejects a frame beyond the budget of its node", () => {
    const reassembler = new FrameReassembler(mib, plenty())
    const max = maxReassemblyBytes(mib)
    assert.isUndefined(begin(reassembler, 1, max / 2 - 2))
    assert.isUndefined(begin(reassembler, 2, max / 2 - 2))
    const third = begin(reassembler, 3, 1)
    assert.deepStrictEqual([third?.kind, third?.tail, reassembler.size], [frameKinds.notify, undefined, 2])
  })

  it("rejects a frame beyond the budget of all nodes", () => {
    const all = new ByteBudget(1000)
    const [one, other] = [new FrameReassembler(mib, all), new FrameReassembler(mib, all)]
    assert.isUndefined(begin(one, 1, 600))
    assert.isDefined(begin(other, 1, maxReassemblyBytes(mib) - 2))
    assert.deepStrictEqual([one.size, other.size], [1, 0])
    assert.isUndefined(begin(other, 2, 300), "the budget allows it")
  })

  it("releases the budget of every frame that ends", () => {
    const reassembler = new FrameReassembler(mib, plenty())
    const max = maxReassemblyBytes(mib) - 2
    const free = (how: string) => {
      assert.isUndefined(begin(reassembler, 9, max), how)
      reassembler.discard(9)
    }
    reassembler.onFragment(fragment(1, firstFragment | lastFragment, 2, "ab"))
    free("whole")
    begin(reassembler, 1, max)
    reassembler.onFragment(fragment(1, lastFragment, 0, "too little"))
    free("truncated")
    begin(reassembler, 1, max)
    reassembler.discard(1)
    reassembler.discard(1)
    free("dropped")
    begin(reassembler, 1, max)
    assert.isUndefined(begin(reassembler, 1, max), "restarted")
    reassembler.close()
    free("closed")
    assert.isDefined(begin(reassembler, 1, max + 1), "the budget is restored exactly")
  })

  it("reserves nothing of the shared budget when the budget of the node is exceeded", () => {
    const all = new ByteBudget(2 * mib)
    const reassembler = new FrameReassembler(mib, all)
    for (let id = 0; id < 3; id++) begin(reassembler, id, mib)
    reassembler.close()
    assert.isTrue(all.reserve(2 * mib))
  })

  it("limits the number of frames and the length of their fields", () => {
    const reassembler = new FrameReassembler(64 * mib, plenty())
    for (let id = 0; id < 2000; id++) begin(reassembler, id, 1)
    assert.strictEqual(reassembler.size, 1024)
    reassembler.close()
    reassembler.onFragment(fragment(1, firstFragment, 1, "", 10_000))
    assert.strictEqual(reassembler.size, 0)
  })
})
