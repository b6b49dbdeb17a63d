import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { Tool } from "../../../../src/domain/model/Tool.ts"
import { makeToolIndex } from "../../../../src/domain/tools/search/ToolIndex.ts"
import { noUsage, recordUse, type ToolUsage, usageBoost } from "../../../../src/domain/tools/search/ToolUsage.ts"

const Word = Schema.Literals(["mail", "file", "board", "note", "issue", "chart", "find", "send"])
const Phrase = Schema.Array(Word).check(Schema.isMinLength(1), Schema.isMaxLength(5))
const Office = Schema.Array(Phrase).check(Schema.isMinLength(1), Schema.isMaxLength(12))
const Position = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 11 }))
const Calls = Schema.Array(Position).check(Schema.isMaxLength(30))

const nameOf = (at: number): string => `desk__t${at}`

const indexOf = (office: typeof Office.Type) =>
  makeToolIndex(
    office.map((words, at): readonly [string, Tool] => [
      nameOf(at),
      { name: `t${at}`, description: words.join(" "), paramsSchema: {}, returnSchema: null }
    ])
  )

const used = (calls: typeof Calls.Type): ToolUsage =>
  calls.reduce((usage, at, index) => recordUse(usage, nameOf(at), index * 1000), noUsage)

const searchWith = (office: typeof Office.Type, query: typeof Phrase.Type, usage: ToolUsage) =>
  indexOf(office).search(query.join(" "), 100, (name) => usageBoost(usage, name, 60_000))

describe("ToolUsage", () => {
  it.prop(
    "never ranks a tool lower because it was used",
    [Office, Phrase, Calls, Position],
    ([office, query, calls, at]) => {
      const name = nameOf(at)
      const before = searchWith(office, query, used(calls)).indexOf(name)
      const after = searchWith(office, query, recordUse(used(calls), name, 60_000)).indexOf(name)
      assert.isTrue(after <= before && after >= 0 === before >= 0)
    }
  )

  it.prop("finds the same tools with any usage", [Office, Phrase, Calls], ([office, query, calls]) => {
    assert.sameMembers([...searchWith(office, query, used(calls))], [...searchWith(office, query, noUsage)])
  })

  it.prop("bounds the boost", [Calls, Position], ([calls, at]) => {
    const boost = usageBoost(used(calls), nameOf(at), 30_000)
    assert.isTrue(boost >= 1 && boost < 1.25)
  })

  it("ranks a used tool above an equal one", () => {
    const office = [["mail"], ["mail"]] as const
    assert.deepStrictEqual(searchWith(office, ["mail"], noUsage), [nameOf(0), nameOf(1)])
    assert.deepStrictEqual(searchWith(office, ["mail"], used([1])), [nameOf(1), nameOf(0)])
  })

  it("keeps a much better match above a tool that is always used", () => {
    const office = [["mail", "board"], ["mail"]] as const
    const always = Array.from({ length: 1000 }, () => 1)
    assert.strictEqual(searchWith(office, ["mail", "board"], used(always))[0], nameOf(0))
  })

  it("halves the uses in an hour", () => {
    const usage = recordUse(recordUse(noUsage, "t", 0), "t", 0)
    const boostAt = (hours: number) => usageBoost(usage, "t", hours * 3_600_000) - 1
    assert.closeTo(boostAt(0), 0.25 * (2 / 3), 1e-9)
    assert.closeTo(boostAt(1), 0.25 * (1 / 2), 1e-9)
    assert.isBelow(boostAt(24), 1e-6)
    assert.closeTo(boostAt(-1), boostAt(0), 1e-9)
  })

  it("forgets the tool used longest ago above a thousand tools", () => {
    let usage = recordUse(noUsage, "first", 0)
    for (let at = 0; at < 999; at++) usage = recordUse(usage, `t${at}`, at)
    usage = recordUse(recordUse(usage, "first", 1000), "last", 1000)
    assert.strictEqual(usage.size, 1000)
    assert.deepStrictEqual(
      ["first", "t0", "t1", "last"].map((name) => usageBoost(usage, name, 1000) > 1),
      [true, false, true, true]
    )
  })
})
