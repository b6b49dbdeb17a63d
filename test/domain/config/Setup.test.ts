import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import {
  keepRuntimeChanges,
  diffSetups,
  findVariable,
  inputIdsOf,
  serversUsingInput,
  type Setup
} from "../../../src/domain/config/Setup.ts"

const stdio = { type: "stdio", server_parameters: { command: "x" } }

const setupOf = (config: object, variables: Setup["variables"] = {}): Setup => ({
  variables,
  config: Result.getOrThrow(parseComputerConfig(config))
})
const setup = (servers: ReadonlyArray<string>, inputs: ReadonlyArray<string> = [], more: object = {}): Setup =>
  setupOf({
    inputs: inputs.map((id) => ({ type: "promptString", id })),
    servers: Object.fromEntries(servers.map((name) => [name, { ...stdio, ...more }]))
  })
const idsOf = ({ config }: Setup) => config.inputs.map(({ id }) => id)
const namesOf = ({ config }: Setup) => Object.keys(config.servers)

describe("keepRuntimeChanges", () => {
  it("keeps servers and inputs that were added at run time", () => {
    const carried = keepRuntimeChanges(setup(["a", "own"], ["i", "own"]), setup(["a"], ["i"]), setup(["b"], ["j"]))
    assert.deepStrictEqual(namesOf(carried), ["b", "own"])
    assert.deepStrictEqual(idsOf(carried), ["j", "own"])
  })

  it("prefers the variables of the new files to the current ones", () => {
    const current = { ...setup(["a"]), variables: { a: { x: "1" }, b: { x: "1" } } }
    const after = { ...setup(["a"]), variables: { a: { x: "2" } } }
    assert.deepStrictEqual(keepRuntimeChanges(current, setup(["a"]), after).variables, { a: { x: "2" }, b: { x: "1" } })
  })

  it("never restores servers and inputs that were removed at run time", () => {
    const files = setup(["a", "b"], ["i", "j"])
    const carried = keepRuntimeChanges(setup(["a"], ["i"]), files, files)
    assert.deepStrictEqual([namesOf(carried), idsOf(carried)], [["a"], ["i"]])
  })
})

describe("Setup", () => {
  it("names the servers that use an input", () => {
    const parameters = {
      command: "x",
      args: ["${input:token}", "${env:HOME}", "${userHome}"],
      env: { A: "x${input:id}" }
    }
    const a = { type: "stdio", server_parameters: parameters }
    const given = setupOf({ servers: { a, b: { command: "y", args: ["${input:other}"] } } }).config
    assert.deepStrictEqual(given.servers["a"] && inputIdsOf(given.servers["a"]), ["token", "id"])
    const users = ["token", "other", "HOME"].map((id) => serversUsingInput(given, id))
    assert.deepStrictEqual(users, [["a"], ["b"], []])
  })

  it("has variables by server, without those of Object.prototype", () => {
    const variables = { a: { userHome: "/root" } }
    assert.strictEqual(findVariable(variables, "a", "userHome"), "/root")
    for (const [server, name] of [
      ["a", "toString"],
      ["b", "userHome"],
      ["constructor", "name"]
    ] as const)
      assert.isUndefined(findVariable(variables, server, name))
  })
})

describe("diffSetups", () => {
  it("sorts servers into added, removed, restarted, reconfigured and unchanged ones", () => {
    const before = setupOf({ servers: { gone: stdio, same: stdio, tools: stdio, moved: stdio } })
    const tools = { ...stdio, forbidden_tools: ["rm"] }
    const moved = { ...stdio, server_parameters: { command: "y" } }
    const after = setupOf({ servers: { same: stdio, tools, moved, come: stdio } })
    assert.deepStrictEqual(diffSetups(before, after), {
      added: ["come"],
      removed: ["gone"],
      restarted: ["moved"],
      reconfigured: ["tools"],
      unchanged: ["same"],
      isReportedConfigChanged: true
    })
  })

  it("restarts a server whose input or variable changed, and no other", () => {
    const servers = {
      a: { command: "${userHome}/x", args: [] },
      b: { command: "x", args: ["${input:i}"] },
      c: { command: "x", args: ["${input:j}", "${env:HOME}"] }
    }
    const withInput = (description: string, variable: string): Setup => {
      const [i, j] = [
        { type: "promptString", id: "i", description },
        { type: "promptString", id: "j" }
      ]
      return setupOf(
        { inputs: [i, j], servers },
        { a: { userHome: variable, unused: variable }, b: { unused: variable } }
      )
    }
    const before = withInput("", "/a")
    assert.deepStrictEqual(diffSetups(before, withInput("new", "/a")).restarted, ["b"])
    assert.deepStrictEqual(diffSetups(before, withInput("", "/b")).restarted, ["a"])
    assert.deepStrictEqual(diffSetups(before, withInput("", "/a")).restarted, [])
  })

  it.each([
    ["no difference between equal setups", ["a"], ["a"], false],
    ["a changed order without restarts", ["a", "b"], ["b", "a"], true]
  ])("reports %s", (_, before, after, isReportedConfigChanged) => {
    const none = { added: [], removed: [], restarted: [], reconfigured: [] }
    const expected = { ...none, unchanged: after, isReportedConfigChanged }
    assert.deepStrictEqual(diffSetups(setup(before), setup(after)), expected)
  })

  it("restarts a server with a changed script", () => {
    assert.deepStrictEqual(diffSetups(setup(["a"]), setup(["a"], [], { vrl: ".a = 1" })).restarted, ["a"])
  })
})
