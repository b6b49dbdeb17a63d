import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import { keepRuntimeChanges, diffSetups, type Setup } from "../../../src/domain/config/Setup.ts"

const setup = (
  servers: ReadonlyArray<string>,
  inputs: ReadonlyArray<string> = [],
  more: object = {}
): Setup => ({
  variables: {},
  config: Result.getOrThrow(
    parseComputerConfig({
      inputs: inputs.map((id) => ({ type: "promptString", id })),
      servers: Object.fromEntries(
        servers.map((name) => [name, { type: "stdio", server_parameters: { command: "x" }, ...more }])
      )
    })
  )
})
const idsOf = ({ config }: Setup) => config.inputs.map(({ id }) => id)
const namesOf = ({ config }: Setup) => Object.keys(config.servers)

describe("a configuration that changes under a Computer that was changed at run time", () => {
  it("what was added at run time stays", () => {
    const carried = keepRuntimeChanges(
      setup(["a", "own"], ["i", "own"]),
      setup(["a"], ["i"]),
      setup(["b"], ["j"])
    )
    assert.deepStrictEqual(
      [namesOf(carried), idsOf(carried)],
      [
        ["b", "own"],
        ["j", "own"]
      ]
    )
  })

  it("what was removed at run time stays away", () => {
    const carried = keepRuntimeChanges(
      setup(["a"], ["i"]),
      setup(["a", "b"], ["i", "j"]),
      setup(["a", "b"], ["i", "j"])
    )
    assert.deepStrictEqual([namesOf(carried), idsOf(carried)], [["a"], ["i"]])
  })
})

describe("the difference between two setups", () => {
  it("the same again is no difference, and nothing to see", () => {
    const { isReportedConfigChanged, unchanged } = diffSetups(setup(["a"]), setup(["a"]))
    assert.deepStrictEqual([isReportedConfigChanged, unchanged], [false, ["a"]])
  })

  it("another order is to be seen although nobody starts anew", () => {
    const { isReportedConfigChanged, unchanged } = diffSetups(setup(["a", "b"]), setup(["b", "a"]))
    assert.deepStrictEqual([isReportedConfigChanged, unchanged], [true, ["b", "a"]])
  })

  it("another script is a new session", () => {
    assert.deepStrictEqual(diffSetups(setup(["a"]), setup(["a"], [], { vrl: ".a = 1" })).restarted, ["a"])
  })
})
