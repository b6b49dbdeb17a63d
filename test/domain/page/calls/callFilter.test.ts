import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseCallFilter } from "../../../../src/domain/page/calls/callFilter.ts"
import { makeCall, startTime } from "../../../page/scripted/pageFixtures.ts"

const call = makeCall({
  tool: "Read_File",
  agent: "brain",
  computer: "desk",
  subject: "ops key",
  traceId: "abc",
  startedAt: startTime,
  endedAt: startTime + 250,
  outcome: "tool_error"
})

const matches = (text: string, given = call): boolean | string => {
  const filter = parseCallFilter(text)
  return typeof filter === "string" ? filter : filter(given, startTime + 1_000)
}

describe("parseCallFilter", () => {
  it.each([
    ["", true],
    ["tool:read", true],
    ["tool:write", false],
    ["TOOL:READ", true],
    ["computer:desk agent:brain", true],
    ["computer:desk agent:other", false],
    ["status:failed", true],
    ["status:done", false],
    ["duration>200ms", true],
    ["duration>250", false],
    ["duration<0.3s", true],
    ["duration>1m", false],
    ['subject:"ops key"', true],
    ['"read_file"', true],
    ["outcome:tool_error", true],
    ["trace:abc", true],
    ["node:n2", false],
    ["event:tool_call", true],
    ["desk", true],
    ["nothing", false],
    ["-tool:write", true],
    ["-tool:read", false],
    ["-duration>200ms", false]
  ])("decides about %s", (text, expected) => {
    assert.strictEqual(matches(text), expected)
  })

  it("compares the duration of a running call with now", () => {
    const running = makeCall({ startedAt: startTime })
    assert.deepStrictEqual([matches("duration>900ms", running), matches("duration>2s", running)], [true, false])
  })

  it.each([
    [
      "status:broken",
      /^status must be one of waiting, consent, running, done, failed, denied, cancelled; found "broken"$/
    ],
    ["duration>fast", /^duration must be a number with the unit ms, s or m/],
    ["duration:5", /^duration needs > or </],
    ["colour:red", /^unknown field "colour"; the fields are tool, computer, agent/],
    ["tool:", /^tool: needs a value$/],
    ["-status:broken", /^status must be one of/],
    ["constructor:x", /^unknown field "constructor"/]
  ])("explains the error in %s", (text, message) => {
    assert.match(String(matches(text)), message)
  })

  it.prop("decides about any text", [Schema.String], ([text]) => {
    assert.include(["boolean", "string"], typeof matches(text))
  })

  it.prop("finds a tool by any part of its name", [Schema.NonEmptyString], ([name]) => {
    const given = makeCall({ tool: name })
    if (!name.includes('"')) assert.isTrue(matches(`tool:"${name}"`, given))
  })
})
