import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Result, Schema } from "effect"
import {
  Joined,
  decodeMessage,
  Reconciled,
  Renewed,
  Snapshot,
  encodeMember,
  memberField,
  membershipOfField
} from "../../../../src/adapters/redis/registry/RegistryScripts.ts"
import type { Member } from "../../../../src/domain/model/Membership.ts"

const member: Member = {
  sid: "s",
  node: "n",
  version: "0.2.0",
  joinRevision: 7,
  joinedAt: 9,
  membership: { office: "O", role: "computer", name: "x" }
}

/** A member as the scripts pass it on. */
const memberJson = { sid: "s", node: "n", version: "0.2.0", since: 7, seat: member.membership, at: 9, owner: "o" }

const decoded = (message: unknown) => Result.getOrUndefined(decodeMessage(JSON.stringify(message)))

/** Whether a decoder takes a reply of Redis. */
const accepts = <A>(decode: (reply: unknown) => Effect.Effect<A, unknown>, reply: unknown) =>
  Effect.map(Effect.exit(decode(reply)), Exit.isSuccess)

describe("member in Redis", () => {
  it("is written without its join revision, which the scripts add", () => {
    const { since: _, ...written } = memberJson
    assert.deepStrictEqual(JSON.parse(encodeMember(member, "o")), written)
  })

  it("has one field for the Agent of an office, and one for each Computer's name", () => {
    assert.strictEqual(memberField({ role: "agent", name: "x" }), "a")
    assert.strictEqual(memberField({ role: "computer", name: "x" }), "cx")
    assert.strictEqual(memberField({ role: "computer", name: "ｘ" }), "cx")
  })

  it.each([
    ["a", { office: "O", role: "agent", name: "" }],
    ["cx", { office: "O", role: "computer", name: "x" }],
    ["ca", { office: "O", role: "computer", name: "a" }]
  ] as const)("with field %s gives its membership", (field, membership) => {
    assert.deepStrictEqual(membershipOfField("O", field), membership)
  })
})

describe("message of the registry", () => {
  it("tells that a member entered", () => {
    assert.deepStrictEqual(decoded({ office: "O", from: 6, to: 7, entered: memberJson }), {
      office: "O",
      from: 6,
      to: 7,
      entered: member
    })
  })

  it("tells that a member entered without the fields that an older node does not write", () => {
    const { at: _, owner: __, ...older } = memberJson
    const { joinedAt: ___, ...known } = member
    assert.deepStrictEqual(decoded({ office: "O", from: 6, to: 7, entered: older }), {
      office: "O",
      from: 6,
      to: 7,
      entered: known
    })
  })

  it("tells that a member left", () => {
    const message = { office: "O", from: 6, to: 7, left: { sid: "s", field: "cx", replaced: true } }
    assert.deepStrictEqual<unknown>(decoded(message), message)
  })

  it("tells all members", () => {
    assert.deepStrictEqual(decoded({ office: "O", to: 7, all: [memberJson] }), { office: "O", to: 7, all: [member] })
  })

  it("tells that a node is gone", () => {
    assert.deepStrictEqual(decoded({ gone: "n" }), { gone: "n" })
  })

  it.each([
    [{ office: "O", to: 7, entered: memberJson }],
    [{ office: "O", from: 6, to: 7, entered: { ...memberJson, since: "7" } }],
    [{ office: "O", from: 6, to: 7, entered: { ...memberJson, seat: { ...member.membership, role: "guest" } } }],
    [{ office: "O", from: 6, to: 7, left: { sid: "s", field: "cx" } }],
    [{ from: 6, to: 7, left: { sid: "s", field: "cx", replaced: true } }],
    [{ to: 7, all: [] }],
    [{ gone: 1 }],
    [{}],
    ["text"]
  ])("is rejected as %j", (message) => {
    assert.isUndefined(decoded(message))
  })

  it("is rejected when it is no JSON", () => {
    assert.isTrue(Result.isFailure(decodeMessage("{")))
  })
})

describe("reply of a script", () => {
  it.effect("has four values after a reconciliation", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Reconciled)([1, ["n"], ["s"], 3]), [1, ["n"], ["s"], 3])
      assert.isFalse(yield* accepts(Schema.decodeUnknownEffect(Reconciled), [1, ["n"], "s", 3]))
      assert.isFalse(yield* accepts(Schema.decodeUnknownEffect(Reconciled), [1, ["n"], ["s"]]))
    })
  )

  it.effect("tells after a renewal whether the node is known", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Renewed)(["ok", ["n"], 2]), ["ok", ["n"], 2])
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Renewed)(["unknown_node", [], 2]), [
        "unknown_node",
        [],
        2
      ])
      assert.isFalse(yield* accepts(Schema.decodeUnknownEffect(Renewed), ["other", [], 2]))
    })
  )

  it.effect.each(["joined", "expired", "unknown_node", "office_full", "too_many_offices", ["taken", "desk", "9"]])(
    "is %s after a join",
    (reply) =>
      Effect.gen(function* () {
        assert.deepStrictEqual<unknown>(yield* Schema.decodeUnknownEffect(Joined)(reply), reply)
      })
  )

  it.effect("is nothing else after a join", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* accepts(Schema.decodeUnknownEffect(Joined), "other"))
    })
  )

  it.effect("has revisions as text and members as JSON in a snapshot", () =>
    Effect.gen(function* () {
      const reply = ["ok", "9", "8", [JSON.stringify(memberJson)]]
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Snapshot)(reply), ["ok", 9, 8, [member]])
      assert.deepStrictEqual(yield* Schema.decodeUnknownEffect(Snapshot)(["unknown_node", "0", "0", []]), [
        "unknown_node",
        0,
        0,
        []
      ])
      assert.isFalse(yield* accepts(Schema.decodeUnknownEffect(Snapshot), ["other", "9", "8", []]))
      assert.isFalse(yield* accepts(Schema.decodeUnknownEffect(Snapshot), ["ok", "9", "8", ["{"]]))
    })
  )
})
