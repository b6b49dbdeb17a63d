import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { isWrong, judge, type Observation } from "./judge.ts"
import { faultsOf, type KnownFault, knownFaults } from "./knownFaults.ts"
import { compareReleases, type Pairing, type Peer, peers } from "./peers.ts"
import { steps } from "./steps.ts"

const peer: Peer = { name: "python-0.3.0", language: "python", version: "0.3.0", line: "0.3", pickOptions: "text" }
const pairing: Pairing = { agent: "ours", computer: "theirs", server: "ours" }
const fault: KnownFault = {
  language: "python",
  versions: ["0.2.2", "0.3.3"],
  role: "computer",
  steps: ["cancel"],
  fault: "ignores cancellations"
}
const failure: Observation = { _tag: "Ran", result: Result.fail("no reply") }
const success: Observation = { _tag: "Ran", result: Result.succeed(undefined) }

const tagOf = (observation: Observation, given: Partial<KnownFault> = {}, again?: Observation) =>
  judge(peer, pairing, "cancel", observation, again, [{ ...fault, ...given }])._tag

describe("judge", () => {
  it("accepts a failure that is a known fault", () => assert.strictEqual(tagOf(failure), "KnownFault"))

  it("reports a known fault that does not occur", () => {
    const verdict = judge(peer, pairing, "cancel", success, undefined, [fault])
    assert.strictEqual(verdict._tag, "Fixed")
    assert.isTrue(isWrong(verdict))
  })

  it("reports a failure of another version", () =>
    assert.strictEqual(tagOf(failure, { versions: ["0.3.1", "0.3.3"] }), "Failed"))

  it("reports a failure where the part is ours", () => assert.strictEqual(tagOf(failure, { role: "agent" }), "Failed"))

  it("reports a failure among other parts", () =>
    assert.strictEqual(tagOf(failure, { among: { server: "theirs" } }), "Failed"))

  it("accepts an occasional fault that does not occur", () =>
    assert.strictEqual(tagOf(success, { isOccasional: true }), "Passed"))

  it("accepts an occasional fault when the step passes later", () =>
    assert.strictEqual(tagOf(failure, { isOccasional: true }, success), "KnownFault"))

  it("reports an occasional fault that occurs twice", () =>
    assert.strictEqual(tagOf(failure, { isOccasional: true }, failure), "Failed"))

  it("passes a step without a known fault", () => assert.strictEqual(tagOf(success, { steps: ["call"] }), "Passed"))

  it("keeps a step that was not run out of the judgement", () =>
    assert.isFalse(isWrong(judge(peer, pairing, "cancel", { _tag: "Blocked", by: "join" }, undefined, [fault]))))
})

describe("knownFaults", () => {
  it("names steps and versions that exist", () => {
    const names = steps.map(([name]) => name)
    for (const { steps: those, versions } of knownFaults) {
      assert.includeMembers(names, [...those])
      assert.isAtMost(compareReleases(...versions), 0)
    }
  })

  it("applies to at least one peer", () => {
    for (const one of knownFaults) {
      const everywhere: Pairing = { agent: "theirs", computer: "theirs", server: "theirs", ...one.among }
      const [step = "join"] = one.steps
      assert.isTrue(
        peers.some((candidate) => faultsOf(step, everywhere, candidate, [one]).length > 0),
        one.fault
      )
    }
  })
})

describe("compareReleases", () => {
  it("compares numbers, not texts", () => assert.isBelow(compareReleases("0.4.9", "0.4.10"), 0))
  it("finds equal releases equal", () => assert.strictEqual(compareReleases("0.4.2", "0.4.2"), 0))
})
