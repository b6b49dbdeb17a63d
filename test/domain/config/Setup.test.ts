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

  it("prefers the variables of the new files to the current ones", () => {
    const current = { ...setup(["a"]), variables: { a: { x: "1" }, b: { x: "1" } } }
    const after = { ...setup(["a"]), variables: { a: { x: "2" } } }
    assert.deepStrictEqual(keepRuntimeChanges(current, setup(["a"]), after).variables, { a: { x: "2" }, b: { x: "1" } })
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

describe("Setup", () => {
  const servers = (parameters: object) => ({ a: { type: "stdio", server_parameters: { command: "x", ...parameters } } })
  const config = (parameters: object) =>
    Result.getOrThrow(
      parseComputerConfig({ servers: { ...servers(parameters), b: { command: "y", args: ["${input:other}"] } } })
    )

  it("names the servers that use an input", () => {
    const given = config({ args: ["${input:token}", "${env:HOME}", "${userHome}"], env: { A: "x${input:id}" } })
    assert.deepStrictEqual(given.servers["a"] && inputIdsOf(given.servers["a"]), ["token", "id"])
    assert.deepStrictEqual(serversUsingInput(given, "token"), ["a"])
    assert.deepStrictEqual(serversUsingInput(given, "other"), ["b"])
    assert.deepStrictEqual(serversUsingInput(given, "HOME"), [])
  })

  it("has variables by server, without those of Object.prototype", () => {
    const variables = { a: { userHome: "/root" } }
    const found = (server: string, name: string) => findVariable(variables, server, name)
    assert.deepStrictEqual(
      [found("a", "userHome"), found("a", "toString"), found("b", "userHome"), found("constructor", "name")],
      ["/root", undefined, undefined, undefined]
    )
  })
})

describe("diffSetups", () => {
  it("sorts servers into added, removed, restarted, reconfigured and unchanged ones", () => {
    const stdio = { type: "stdio", server_parameters: { command: "x" } }
    const setupOf = (servers: object): Setup => ({
      variables: {},
      config: Result.getOrThrow(parseComputerConfig({ servers }))
    })
    const before = setupOf({ gone: stdio, same: stdio, tools: stdio, moved: stdio })
    const after = setupOf({
      same: stdio,
      tools: { ...stdio, forbidden_tools: ["rm"] },
      moved: { type: "stdio", server_parameters: { command: "y" } },
      come: stdio
    })
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
    const withInput = (description: string, variable: string): Setup => ({
      variables: { a: { userHome: variable, unused: variable }, b: { unused: variable } },
      config: Result.getOrThrow(
        parseComputerConfig({
          inputs: [
            { type: "promptString", id: "i", description },
            { type: "promptString", id: "j", description: "" }
          ],
          servers: {
            a: { command: "${userHome}/x", args: [] },
            b: { command: "x", args: ["${input:i}"] },
            c: { command: "x", args: ["${input:j}", "${env:HOME}"] }
          }
        })
      )
    })
    const before = withInput("", "/a")
    assert.deepStrictEqual(diffSetups(before, withInput("new", "/a")).restarted, ["b"])
    assert.deepStrictEqual(diffSetups(before, withInput("", "/b")).restarted, ["a"])
    assert.deepStrictEqual(diffSetups(before, withInput("", "/a")).restarted, [])
  })

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
