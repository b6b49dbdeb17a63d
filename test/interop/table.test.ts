import { assert, describe, it } from "@effect/vitest"
import type { Finding, Verdict } from "./judge.ts"
import type { KnownFault } from "./knownFaults.ts"
import { type Peer, peerAlone } from "./peers.ts"
import { formatTable, replaceTable, tableMarkers } from "./table.ts"

const peer: Peer = { name: "python-0.3.0", language: "python", version: "0.3.0", line: "0.3", pickOptions: "text" }
const fault: KnownFault = {
  language: "python",
  versions: ["0.2.2", "0.3.3"],
  role: "computer",
  steps: ["cancel"],
  fault: "ignores cancellations"
}

const rowOf = (...verdicts: ReadonlyArray<Verdict>): string | undefined => {
  const findings = verdicts.map((verdict): Finding => ({ peer, pairing: peerAlone, step: "cancel", verdict }))
  return formatTable(findings)
    .split("\n")
    .find((line) => line.includes("cancelled call"))
}

const known: Verdict = { _tag: "KnownFault", faults: [fault], reason: "no reply" }

describe("formatTable", () => {
  it("writes yes when all pairings pass", () =>
    assert.include(rowOf({ _tag: "Passed" }, { _tag: "NotOffered" }), "| yes |"))
  it("writes no when one pairing fails", () =>
    assert.include(rowOf({ _tag: "Passed" }, known, { _tag: "Failed", reason: "no reply" }), "| no |"))
  it("writes the number of a fault", () => assert.include(rowOf({ _tag: "Passed" }, known), "| fault 1 |"))
  it("writes a dash for a step that no pairing offers", () => assert.include(rowOf({ _tag: "NotOffered" }), "| – |"))
})

describe("replaceTable", () => {
  const document = `before\n${tableMarkers.start}\nold\n${tableMarkers.end}\nafter`

  it("replaces only the text between the markers", () =>
    assert.strictEqual(replaceTable(document, "new"), `before\n${tableMarkers.start}\nnew\n${tableMarkers.end}\nafter`))

  it("rejects a document without markers", () => assert.throws(() => replaceTable("text", "new"), /interop:start/))
})
