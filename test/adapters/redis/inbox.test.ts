import { assert, describe, it } from "@effect/vitest"
import { Budget } from "../../../src/adapters/redis/Budget.ts"
import { firstPiece, FrameReader, FrameWriter, kinds, lastPiece } from "../../../src/adapters/redis/frames.ts"
import { Inbox, mostHeld } from "../../../src/adapters/redis/Inbox.ts"

const mib = 1024 * 1024

/** A piece of a frame whose fields are so many bytes, its kind included. */
const piece = (id: number, flags: number, promised: number, text = "", fieldBytes = 1): FrameReader => {
  const writer = new FrameWriter(Buffer.alloc(fieldBytes + text.length + 64)).u32(id).u8(flags)
  if ((flags & firstPiece) !== 0) {
    writer.u32(fieldBytes).bytes(Buffer.alloc(fieldBytes, kinds.tell)).u32(promised)
  }
  writer.content(text)
  return new FrameReader(writer.buffer.subarray(0, writer.length))
}

const begin = (inbox: Inbox, id: number, promised: number) => inbox.take(piece(id, firstPiece, promised, "x"))

const plenty = () => new Budget(Number.MAX_SAFE_INTEGER)

describe("frames that come in pieces", () => {
  it("are put together again, each for itself", () => {
    const inbox = new Inbox(mib, plenty())
    assert.isUndefined(inbox.take(piece(1, firstPiece, 4, "ab")))
    assert.isUndefined(inbox.take(piece(2, firstPiece, 4, "wx")))
    assert.strictEqual(inbox.size, 2)
    const [two, one] = [inbox.take(piece(2, lastPiece, 0, "yz")), inbox.take(piece(1, lastPiece, 0, "cd"))]
    assert.deepStrictEqual([one?.tail?.toString(), two?.tail?.toString()], ["abcd]", "wxyz]"])
    assert.deepStrictEqual([one?.kind, inbox.size], [kinds.tell, 0])
  })

  it("are nothing without their beginning, or with more or less than was promised", () => {
    const inbox = new Inbox(mib, plenty())
    assert.isUndefined(inbox.take(piece(1, lastPiece, 0, "ab")))
    for (const text of ["abc", "a"]) {
      assert.isUndefined(inbox.take(piece(1, firstPiece | lastPiece, 2, text)))
      assert.strictEqual(inbox.size, 0)
    }
  })

  it("are not begun where one node has promised more than may wait for another one", () => {
    const inbox = new Inbox(mib, plenty())
    const most = mostHeld(mib)
    assert.isUndefined(begin(inbox, 1, most / 2 - 2))
    assert.isUndefined(begin(inbox, 2, most / 2 - 2))
    const third = begin(inbox, 3, 1)
    assert.deepStrictEqual([third?.kind, third?.tail, inbox.size], [kinds.tell, undefined, 2])
  })

  it("are not begun where all nodes together have promised too much", () => {
    const all = new Budget(1000)
    const [one, other] = [new Inbox(mib, all), new Inbox(mib, all)]
    assert.isUndefined(begin(one, 1, 600))
    assert.isDefined(begin(other, 1, mostHeld(mib) - 2))
    assert.deepStrictEqual([one.size, other.size], [1, 0])
    assert.isUndefined(begin(other, 2, 300), "there is room for that")
  })

  it("give back what they took, however they end", () => {
    const inbox = new Inbox(mib, plenty())
    const most = mostHeld(mib) - 2
    const free = (how: string) => {
      assert.isUndefined(begin(inbox, 9, most), how)
      inbox.drop(9)
    }
    inbox.take(piece(1, firstPiece | lastPiece, 2, "ab"))
    free("whole")
    begin(inbox, 1, most)
    inbox.take(piece(1, lastPiece, 0, "too little"))
    free("cut short")
    begin(inbox, 1, most)
    inbox.drop(1)
    inbox.drop(1)
    free("dropped")
    begin(inbox, 1, most)
    assert.isUndefined(begin(inbox, 1, most), "begun anew")
    inbox.close()
    free("closed")
    assert.isDefined(begin(inbox, 1, most + 1), "and no more than they took")
  })

  it("give back what all share, too, when one node has had no room", () => {
    const all = new Budget(2 * mib)
    const inbox = new Inbox(mib, all)
    for (let id = 0; id < 3; id++) begin(inbox, id, mib)
    inbox.close()
    assert.isTrue(all.take(2 * mib))
  })

  it("are no more than there may be, however short, and their fields no longer than ours", () => {
    const inbox = new Inbox(64 * mib, plenty())
    for (let id = 0; id < 2000; id++) begin(inbox, id, 1)
    assert.strictEqual(inbox.size, 1024)
    inbox.close()
    inbox.take(piece(1, firstPiece, 1, "", 10_000))
    assert.strictEqual(inbox.size, 0)
  })
})
