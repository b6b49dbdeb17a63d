import { assert, describe, it } from "@effect/vitest"
import { type CallEnd, endCommands, type RoutedCallCommand } from "../../../src/domain/office/callLifecycle.ts"

const ends: ReadonlyArray<readonly [CallEnd, ReadonlyArray<RoutedCallCommand>]> = [
  ["Replied", ["Release", "Report", "Reply"]],
  ["Failed", ["Release", "Report", "CancelAtComputer", "Reply"]],
  ["Aborted", ["DropRequest", "Release", "Report", "CancelAtComputer", "Reply"]],
  ["Abandoned", ["DropRequest", "Release", "Report", "CancelAtComputer"]]
]

describe("the life of a call at a Server", () => {
  it.each(ends)("ends when it is %s, with %j", (end, commands) => {
    assert.deepStrictEqual(endCommands[end], commands)
  })
})
