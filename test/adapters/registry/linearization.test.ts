import { assert, describe, it } from "@effect/vitest"
import { type RegistryChange, takeoverReason } from "../../../src/application/ports/OfficeRegistry.ts"
import { unlimitedCapacity } from "../../../src/domain/office/decideMembership.ts"
import type { ModelSessions } from "../../domain/office/referenceModel.ts"
import { explain, hasReceived, type Outcome } from "./linearization.ts"

const membershipIn = (office: string) => ({ office, role: "computer", name: "x" }) as const

/** Two sessions of the same Computer on two nodes, each in an office. */
const before: ModelSessions = [
  { sid: "here", node: "n1", reconnectKey: "h", subject: "", role: "computer", membership: membershipIn("P") },
  { sid: "there", node: "n2", reconnectKey: "h", subject: "", role: "computer", membership: membershipIn("O") }
]

const joins = (sid: string, office: string): Outcome => ({
  command: { _tag: "Join", sid, ...membershipIn(office) },
  prints: "ok"
})

const change = (_tag: "Entered" | "Left", office: string): RegistryChange => ({
  _tag,
  sid: "here",
  membership: membershipIn(office),
  recipients: []
})

const evicted: RegistryChange = { _tag: "Evicted", sid: "here", reason: takeoverReason }

/** Whether an order of these commands explains what the node of `here` has received. */
const isExplained = (outcomes: ReadonlyArray<Outcome>, received: ReadonlyArray<RegistryChange>) =>
  explain(before, outcomes, unlimitedCapacity, (order) => hasReceived(new Set(["here"]), before, order, received)) !==
  undefined

describe("order of commands", () => {
  const swap = [joins("there", "P"), joins("there", "O"), joins("here", "O")]
  const moved = [change("Left", "P"), evicted, change("Entered", "O")]

  it("explains the eviction of a session that is replaced, joins another office, and is replaced again", () => {
    assert.isTrue(isExplained(swap, [...moved, change("Left", "O"), evicted]))
  })

  it("explains changes of different offices in any order, and those of one office in their order", () => {
    const other = { office: "Q", role: "computer", name: "y" } as const
    const sessions: ModelSessions = [
      { sid: "here", node: "n1", reconnectKey: "", subject: "", role: "computer", membership: undefined },
      { sid: "also", node: "n1", reconnectKey: "", subject: "", role: "computer", membership: undefined }
    ]
    const also = (_tag: "Entered" | "Left"): RegistryChange => ({
      _tag,
      sid: "also",
      membership: other,
      recipients: []
    })
    const commands: ReadonlyArray<Outcome> = [
      joins("here", "O"),
      joins("here", "P"),
      { command: { _tag: "Join", sid: "also", ...other }, prints: "ok" }
    ]
    const explains = (...received: ReadonlyArray<RegistryChange>) =>
      explain(sessions, commands, unlimitedCapacity, (order) =>
        hasReceived(new Set(["here", "also"]), sessions, order, received)
      ) !== undefined
    const [inO, outO, inP] = [change("Entered", "O"), change("Left", "O"), change("Entered", "P")]
    assert.deepStrictEqual(
      [
        explains(inO, outO, inP, also("Entered")),
        explains(also("Entered"), inO, outO, inP),
        explains(also("Entered"), outO, inO, inP)
      ],
      [true, true, false]
    )
  })

  it("explains no missing eviction", () => {
    assert.isFalse(isExplained([joins("there", "P")], [change("Left", "P")]))
    assert.isTrue(isExplained([joins("there", "P")], [change("Left", "P"), evicted]))
  })

  it("explains no eviction that is reported twice", () => {
    assert.isFalse(isExplained([joins("there", "P")], [change("Left", "P"), evicted, evicted]))
  })
})
