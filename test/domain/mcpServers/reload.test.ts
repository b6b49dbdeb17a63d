import { assert, describe, it } from "@effect/vitest"
import { bundleNaming, plainNaming } from "../../../src/domain/tools/naming.ts"
import { initialServer, type McpOffer, type McpServer, transition } from "../../../src/domain/mcpServers/McpServer.ts"
import {
  changedConflicts,
  findIdentityConflict,
  type McpServers,
  reload,
  transitionOf
} from "../../../src/domain/mcpServers/reload.ts"
import { serverConfigOf } from "../../../src/domain/config/Setup.ts"
import { setupOf } from "../../application/computer/testComputer.ts"

type Server = McpServer<McpOffer>

const ready = (name: string): Server => {
  const config = serverConfigOf(setupOf([name]), name) ?? assert.fail()
  const offer = { config, tools: [], resources: [], prompts: [], templates: [] }
  return transition<McpOffer>(initialServer(1, false), { _tag: "Ready", run: 1, offer, at: 0 })[0]
}
const serversOf = (...names: ReadonlyArray<string>): McpServers<McpOffer> =>
  new Map(names.map((name) => [name, ready(name)]))

describe("reload", () => {
  it("starts added servers, stops removed ones, and keeps unchanged ones, in the order of the configuration", () => {
    const servers = serversOf("kept", "removed")
    const after = setupOf(["added", "kept", "disabled"], { configure: { disabled: { disabled: true } } })
    const { commands, servers: next } = reload(servers, setupOf(["kept", "removed"]), after, 2)
    assert.deepStrictEqual(
      [...next],
      [
        ["added", { _tag: "Starting", run: 2, attempt: 1 }],
        ["kept", servers.get("kept")],
        ["disabled", { _tag: "Stopped", run: 2, reason: "disabled" }]
      ]
    )
    assert.strictEqual(next.get("kept"), servers.get("kept"))
    assert.deepStrictEqual(
      [...commands],
      [
        ["added", [{ _tag: "Close" }, { _tag: "Open" }]],
        ["disabled", [{ _tag: "Close" }]],
        ["removed", [{ _tag: "Close" }]]
      ]
    )
  })

  it("restarts a server whose session depends on the change, and keeps the session of another one", () => {
    const before = setupOf(["moved", "renamed"])
    const configure = {
      moved: { server_parameters: { command: "other" } },
      renamed: { tool_meta: { t: { alias: "u" } } }
    }
    const { commands, diff, servers } = reload(
      serversOf("moved", "renamed"),
      before,
      setupOf(["moved", "renamed"], { configure }),
      2
    )
    assert.deepStrictEqual([diff.restarted, diff.reconfigured], [["moved"], ["renamed"]])
    assert.deepStrictEqual(servers.get("moved"), { _tag: "Starting", run: 2, attempt: 1 })
    const renamed = servers.get("renamed")
    if (renamed?._tag !== "Running") return assert.fail(renamed?._tag)
    assert.strictEqual(renamed.offer.config.toolMeta["t"]?.alias, "u")
    assert.strictEqual(renamed.run, 1)
    assert.deepStrictEqual(
      [...commands],
      [
        ["moved", [{ _tag: "Close" }, { _tag: "Open" }]],
        ["renamed", []]
      ]
    )
  })
})

describe("transitionOf", () => {
  it("changes one server, and nothing for an unknown one or an event without effect", () => {
    const servers = serversOf("alpha", "beta")
    const [commands, next] = transitionOf(servers, "alpha", { _tag: "Stop" })
    assert.deepStrictEqual(commands, [{ _tag: "Close" }])
    assert.deepStrictEqual([next.get("alpha")?._tag, next.get("beta")], ["Stopped", servers.get("beta")])
    for (const unchanged of [
      transitionOf(servers, "ghost", { _tag: "Stop" }),
      transitionOf(servers, "alpha", { _tag: "RetryDue", run: 1 })
    ]) {
      assert.deepStrictEqual(unchanged[0], [])
      assert.strictEqual(unchanged[1], servers)
    }
  })
})

describe("identity of servers in the office", () => {
  const bundled = (...names: ReadonlyArray<string>) =>
    setupOf(names, { configure: Object.fromEntries(names.map((name) => [name, { bundle_id: "com-x" }])) })

  it("conflicts with that of an earlier server, where the office names servers by it", () => {
    const setup = bundled("alpha", "beta")
    assert.isUndefined(findIdentityConflict(setup, bundleNaming, "alpha"))
    assert.strictEqual(findIdentityConflict(setup, bundleNaming, "beta")?.name, "alpha")
    assert.isUndefined(findIdentityConflict(setup, plainNaming, "beta"))
    for (const unknown of ["ghost", "toString"]) {
      assert.isUndefined(findIdentityConflict(setup, bundleNaming, unknown))
      assert.isUndefined(serverConfigOf(setup, unknown))
    }
  })

  it("restarts servers whose conflict appears or goes, unless they are stopped or have not begun", () => {
    const setup = bundled("alpha", "beta")
    const plain = { setup, naming: plainNaming }
    const named = { setup, naming: bundleNaming }
    const servers = serversOf("alpha", "beta")
    assert.deepStrictEqual(changedConflicts(servers, plain, named), ["beta"])
    assert.deepStrictEqual(changedConflicts(servers, named, plain), ["beta"])
    assert.deepStrictEqual(changedConflicts(servers, named, named), [])
    assert.deepStrictEqual(changedConflicts(servers, named, { ...named, setup: bundled("beta", "alpha") }), [
      "alpha",
      "beta"
    ])
    for (const beta of [initialServer(1, true), initialServer(0, false)]) {
      assert.deepStrictEqual(changedConflicts(new Map([["beta", beta]]), plain, named), [])
    }
  })
})
