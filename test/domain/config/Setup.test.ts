import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import { keepRuntimeChanges, diffSetups, type Setup } from "../../../src/domain/config/Setup.ts"

const setup = (servers: ReadonlyArray<string>, inputs: ReadonlyArray<string> = [], more: object = {}): Setup => ({
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

describe("keepRuntimeChanges", () => {
  it("keeps servers and inputs that were added at run time", () => {
    const carried = keepRuntimeChanges(setup(["a", "own"], ["i", "own"]), setup(["a"], ["i"]), setup(["b"], ["j"]))
    assert.deepStrictEqual(
      [namesOf(carried), idsOf(carried)],
      [
        ["b", "own"],
        ["j", "own"]
      ]
    )
  })

  it("never restores servers and inputs that were removed at run time", () => {
    const carried = keepRuntimeChanges(
      setup(["a"], ["i"]),
      setup(["a", "b"], ["i", "j"]),
      setup(["a", "b"], ["i", "j"])
    )
    assert.deepStrictEqual([namesOf(carried), idsOf(carried)], [["a"], ["i"]])
  })
})

describe("diffSetups", () => {
  it("reports no difference between equal setups", () => {
    const { isReportedConfigChanged, unchanged } = diffSetups(setup(["a"]), setup(["a"]))
    assert.deepStrictEqual([isReportedConfigChanged, unchanged], [false, ["a"]])
  })

  it("reports a changed order without restarts", () => {
    const { isReportedConfigChanged, unchanged } = diffSetups(setup(["a", "b"]), setup(["b", "a"]))
    assert.deepStrictEqual([isReportedConfigChanged, unchanged], [true, ["b", "a"]])
  })

  it("restarts a server with a changed script", () => {
    assert.deepStrictEqual(diffSetups(setup(["a"]), setup(["a"], [], { vrl: ".a = 1" })).restarted, ["a"])
  })
})
