import { assert, describe, it } from "@effect/vitest"
import { readOptions } from "./options.ts"
import { peers } from "./peers.ts"

describe("readOptions", () => {
  it("selects all peers by default", () => {
    const options = readOptions([])
    assert.deepStrictEqual(options.peers, peers)
    assert.isTrue(options.isComplete)
  })

  it("selects the named peers", () => {
    const options = readOptions(["--only", "python-0.2.2", "--only", "python-0.4.2"])
    assert.sameMembers(
      options.peers.map(({ name }) => name),
      ["python-0.2.2", "python-0.4.2"]
    )
    assert.isFalse(options.isComplete)
  })

  it("rejects an unknown peer, and names the known ones", () =>
    assert.throws(() => readOptions(["--only", "perl"]), /perl.*python-0\.4\.2/))

  it("does not write the table for a peer alone", () => assert.isFalse(readOptions(["--alone"]).isComplete))
})
