import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import {
  decide,
  evolve,
  type MembershipCommand,
  emptyMembershipState,
  type MembershipState,
  membersOf
} from "../../../src/domain/office/decideMembership.ts"

const connect = (sid: string): MembershipCommand => ({
  _tag: "Connect",
  sid,
  node: "n",
  reconnectKey: "",
  subject: "",
  version: "0.2.0",
  role: Option.none()
})
const join = (sid: string, role: "agent" | "computer", name: string, at?: number): MembershipCommand => ({
  _tag: "Join",
  sid,
  role,
  name,
  office: "O1",
  ...(at !== undefined && { at })
})

const after = (...commands: ReadonlyArray<MembershipCommand>): MembershipState =>
  commands.reduce(
    (state, command) => Result.getOrThrow(decide(state, command)).reduce(evolve, state),
    emptyMembershipState
  )

/** What the reference model leaves out; `model.test.ts` compares all the rest. */
describe("membership", () => {
  it("numbers a member by the revision of its join", () => {
    const state = after(connect("a1"), join("a1", "agent", "agent-1"), connect("c1"), join("c1", "computer", "pc-1"))
    const revisions = membersOf(state, "O1").map(({ joinRevision, sid }) => `${sid} ${joinRevision}`)
    assert.deepStrictEqual([revisions, state.revision], [["a1 1", "c1 2"], 2])
  })

  it("disconnects a session once", () => {
    const disconnect: MembershipCommand = { _tag: "Disconnect", sid: "1" }
    assert.deepStrictEqual(
      decide(after(connect("1")), disconnect),
      Result.succeed([{ _tag: "Disconnected", sid: "1" }])
    )
    assert.deepStrictEqual(decide(after(connect("1"), disconnect), disconnect), Result.succeed([]))
  })

  it.each([
    [
      "040: rejects a second Agent",
      join("1", "agent", "agent-1", 0),
      join("2", "agent", "agent-2"),
      "Room already has an agent: office 'O1' has the Agent 'agent-1', connected since 1970-01-01T00:00:00.000Z"
    ],
    [
      "048: rejects a second Computer of the same name",
      join("1", "computer", "pc-1"),
      join("2", "computer", "pc-1"),
      "Computer with name 'pc-1' already exists in room 'O1': office 'O1' has the Computer 'pc-1'"
    ]
  ])("case %s with the protocol's message and the current member", (_, first, second, message) => {
    const outcome = decide(after(connect("1"), first, connect("2")), second)
    assert.strictEqual(Result.getOrThrow(Result.flip(outcome)).message, message)
  })
})
