import { assert, describe } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type LineName, lineNamed } from "../../src/domain/wire/lines.ts"
import { formatVersion } from "../../src/domain/wire/version.ts"
import { agentUnderTest, computerUnderTest, resource, tool } from "./members.ts"
import { conform, type Peer, type World } from "./World.ts"

const base = { agent: "agent-1", req_id: "r1", computer: "pc-1" }

/** A raw Agent on a line with bundle ids. */
const agentOn = Effect.fnUntraced(function* (world: World, line: LineName) {
  const peer = yield* world.connect({ version: formatVersion(lineNamed(line).version), auth: {} })
  assert.deepStrictEqual(
    yield* peer.request("server:join_office", { role: "agent", name: "agent-1", office_id: "O1" }),
    [true, null]
  )
  return peer
})

const request = <A>(peer: Peer, event: string, more: object = {}) =>
  Effect.map(peer.request(event, { ...base, ...more }), ([reply]) => reply as A)

interface WireTool {
  readonly name: string
  readonly bundle_id: string
}

const call = (peer: Peer, tool_name: string, req_id: string) =>
  request<{ readonly isError: boolean; readonly meta?: { readonly error_code?: number }; readonly content: unknown }>(
    peer,
    "client:tool_call",
    { tool_name, req_id, params: {}, timeout: 5 }
  )

/** Two servers of one name and different ids, and one with an alias. */
const mcp = (name: string) => ({ tools: [tool(name)], resources: [resource(`file:///${name}`)] })
const servers = { first: mcp("read"), second: mcp("read"), third: mcp("write") }
const configure = {
  first: { name: "Files", bundle_id: "files_one" },
  second: { name: "Files", bundle_id: "files_two", forbidden_tools: [] },
  third: { tool_meta: { write: { alias: "put" } } }
}
const equalIds = {
  servers: { first: servers.first, third: servers.third },
  configure: { first: { bundle_id: "same" }, third: { bundle_id: "same" } }
}

const onBundleLines = (
  title: string,
  body: (world: World, line: LineName) => Effect.Effect<void, unknown, Scope.Scope>
): void => {
  for (const line of ["0.3", "0.4"] as const) conform(`${title}, on ${line}`, (world) => body(world, line))
}

describe("bundle ids of a Computer", () => {
  onBundleLines("name its tools", (world, protocol) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers, configure, protocol })
      const agent = yield* agentOn(world, protocol)
      const { tools } = yield* request<{ readonly tools: ReadonlyArray<WireTool> }>(agent, "client:get_tools")
      assert.deepStrictEqual(
        tools.map(({ bundle_id, name }) => [name, bundle_id]),
        [
          ["files_one__read", "files_one"],
          ["files_two__read", "files_two"],
          ["third__put", "third"]
        ]
      )
    })
  )

  onBundleLines("are part of the only callable name", (world, protocol) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers, configure, protocol })
      const agent = yield* agentOn(world, protocol)
      assert.isFalse((yield* call(agent, "third__put", "r1")).isError)
      for (const [index, name] of ["put", "write", "third__write", "files_three__read"].entries()) {
        const result = yield* call(agent, name, `r2-${index}`)
        assert.strictEqual(result.meta?.error_code, 4001, name)
      }
    })
  )

  onBundleLines("forbid a tool by any of its names", (world, protocol) =>
    Effect.gen(function* () {
      for (const [index, forbidden] of ["write", "put", "third__put"].entries()) {
        const computer = yield* computerUnderTest(world, {
          name: `pc-${index}`,
          servers,
          configure: { ...configure, third: { ...configure.third, forbidden_tools: [forbidden] } },
          protocol
        })
        const { entries, forbidden: disabled } = yield* computer.catalogue
        assert.isFalse(entries.has("third__put"), forbidden)
        assert.isTrue(disabled.has("third__put"), forbidden)
      }
    })
  )

  onBundleLines("key its configuration", (world, protocol) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers, configure, protocol })
      const config = yield* request<{
        readonly servers: { readonly [id: string]: { readonly name: string; readonly bundle_id: string } }
      }>(yield* agentOn(world, protocol), "client:get_config")
      assert.deepStrictEqual(
        Object.entries(config.servers).map(([key, { bundle_id, name }]) => [key, bundle_id, name]),
        [
          ["files_one", "files_one", "Files"],
          ["files_two", "files_two", "Files"],
          ["third", "third", "third"]
        ]
      )
    })
  )

  onBundleLines("find the server of a request for resources, or give 4014", (world, protocol) =>
    Effect.gen(function* () {
      yield* computerUnderTest(world, { servers, configure, protocol })
      const agent = yield* agentOn(world, protocol)
      const found = yield* request<{ readonly resources: ReadonlyArray<{ readonly uri: string }> }>(
        agent,
        "client:get_resources",
        { mcp_server: "files_two" }
      )
      assert.deepStrictEqual(
        found.resources.map(({ uri }) => uri),
        ["file:///read"]
      )
      const missing = yield* request<object>(agent, "client:get_resources", { mcp_server: "second" })
      assert.deepInclude(missing, { code: 4014, mcp_server: "second" })
      assert.notProperty(missing, "mcp_server_name")
    })
  )

  onBundleLines("run only the first server of equal ids", (world, protocol) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world, {
        servers,
        configure: { first: { bundle_id: "same" }, second: { bundle_id: "same" } },
        protocol
      })
      const states = yield* computer.servers
      assert.strictEqual(states.get("first")?._tag, "Ready")
      const second = states.get("second")
      assert.isTrue(second?._tag === "Failed" && second.reason.includes("'first' has the same bundle id same"))
    })
  )

  conform("have no effect on 0.2", (world) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world, equalIds)
      assert.deepStrictEqual([...(yield* computer.catalogue).entries.keys()], ["read", "write"])
    })
  )

  conform("follow the line of the office that a Computer joins", (world) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world, { servers: { first: servers.first } })
      yield* computer.leave
      yield* computer.join({ office: "O1", protocol: "0.4" })
      assert.deepStrictEqual([...(yield* computer.catalogue).entries.keys()], ["first__read"])
      const agent = yield* agentUnderTest(world, { protocol: "0.4" })
      const [listed] = yield* agent.getTools("pc-1")
      assert.deepInclude(listed, { name: "first__read", bundleId: "first" })
    })
  )

  conform("start and stop servers of equal ids when the line changes", (world) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world, equalIds)
      const tagOf = Effect.map(computer.servers, (states) => states.get("third")?._tag)
      assert.strictEqual(yield* tagOf, "Ready")
      yield* computer.leave
      yield* computer.join({ office: "O1", protocol: "0.3" })
      assert.strictEqual(yield* tagOf, "Failed")
      yield* computer.leave
      yield* computer.join({ office: "O1", protocol: "0.2" })
      yield* computer.start("third")
      assert.strictEqual(yield* tagOf, "Ready")
    })
  )
})

describe("a member that negotiates its line", () => {
  conform("takes the newest one", (world) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world, { protocol: "auto" })
      const agent = yield* agentUnderTest(world, { protocol: "auto" })
      assert.strictEqual(agent.member.line.name, "0.4")
      assert.strictEqual((yield* computer.member)?.line.name, "0.4")
    })
  )

  for (const lines of [["0.2"], ["0.2", "0.3"]] as const) {
    conform(
      `takes the newest one of a Server with ${lines.join(" and ")}`,
      (world) =>
        Effect.gen(function* () {
          const agent = yield* agentUnderTest(world, { protocol: "auto" })
          assert.strictEqual(agent.member.line.name, lines.at(-1))
        }),
      { lines }
    )
  }
})
