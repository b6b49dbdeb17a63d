import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import * as MemoryMcp from "../../src/adapters/memory/MemoryMcp.ts"
import { agentIn, assertRejected, computerIn, malformed, settled } from "./joinedMembers.ts"
import { computerUnderTest, officeUnderTest, textResult, tool } from "./members.ts"
import { conform, type Peer } from "./World.ts"

interface WireTool {
  readonly name: string
  readonly description: unknown
  readonly params_schema: unknown
  readonly return_schema: unknown
  readonly meta: { readonly [key: string]: unknown }
}
const base = { agent: "agent-1", req_id: "r1", computer: "pc-1" }
const toolsOf = (peer: Peer) =>
  Effect.map(peer.request("client:get_tools", base), ([answer]) => {
    const { req_id, tools } = answer as { readonly tools: ReadonlyArray<WireTool>; readonly req_id: string }
    assert.strictEqual(req_id, "r1")
    return tools
  })
const namesOf = (peer: Peer) => Effect.map(toolsOf(peer), (tools) => tools.map(({ name }) => name))
interface WireResult {
  readonly content: ReadonlyArray<{ readonly text: string }>
  readonly isError: boolean
  readonly meta?: { readonly [key: string]: unknown }
}
const call = (peer: Peer, tool_name: string, req_id: string) =>
  Effect.map(
    peer.request("client:tool_call", { ...base, req_id, tool_name, params: {}, timeout: 5 }),
    ([answer]) => answer as WireResult
  )
const textAt = (peer: Peer, tool_name: string, req_id: string) =>
  Effect.map(call(peer, tool_name, req_id), ({ content }) => content[0]?.text)
const assertFailed = ({ isError, meta }: WireResult, code: number) =>
  assert.deepStrictEqual([isError, meta?.["error_code"]], [true, code])
const saying = (name: string, text: string) => tool(name, () => Effect.succeed(textResult(text)))

const unconfirmed = { configure: { alpha: { default_tool_meta: null } } }

describe("client:get_tools", () => {
  conform("cases 165, 178, 179, 174: lists a tool with only a name", (world) =>
    Effect.gen(function* () {
      const tools = [tool("one"), { definition: { name: "two" }, run: () => Effect.succeed({}) }]
      const { a1 } = yield* officeUnderTest(world, { alpha: { tools } }, unconfirmed)
      assert.deepStrictEqual(yield* toolsOf(a1), [
        { name: "one", description: "does one", params_schema: { type: "object" }, return_schema: null, meta: {} },
        { name: "two", description: "", params_schema: {}, return_schema: null, meta: {} }
      ])
    })
  )

  conform(
    "hides only a server whose tools exceed the message limit",
    (world) =>
      Effect.gen(function* () {
        const description = "x".repeat(10_000)
        const described = (name: string) => tool(name, undefined, { description })
        const { a1 } = yield* officeUnderTest(world, {
          large: { tools: Array.from({ length: 20 }, (_, index) => described(`large-${index}`)) },
          small: { tools: [described("small")] }
        })
        assert.deepStrictEqual(yield* namesOf(a1), ["small"])
        const warnings = world.logs.filter(({ level }) => level === "Warn").map(({ text }) => text)
        assert.isTrue(warnings.some((text) => text.includes("reply truncated") && text.includes("[ 'large' ]")))
      }),
    { maxMessageBytes: 100_000 }
  )

  conform(
    "rejects a request whose reply exceeds the message limit",
    (world) =>
      Effect.gen(function* () {
        const tools = [tool("huge", undefined, { description: "x".repeat(200_000) })]
        const { a1 } = yield* officeUnderTest(world, { huge: { tools } })
        assertRejected(yield* a1.request("client:get_tools", base), 413)
      }),
    { maxMessageBytes: 100_000 }
  )

  conform("cases 166, 167, 171, 173, 175, 176: encodes meta like the seed", (world) =>
    Effect.gen(function* () {
      const definition = {
        annotations: { readOnlyHint: true },
        outputSchema: { type: "object" },
        _meta: { k: "v", n: 1, o: { a: 1 }, a2c_tool_meta: "forged" }
      }
      const configure = { alpha: { default_tool_meta: { tags: ["browser"], auto_apply: true } } }
      const tools = [tool("hello", undefined, definition)]
      const { a1 } = yield* officeUnderTest(world, { alpha: { tools } }, { configure })
      const [hello] = yield* toolsOf(a1)
      assert.deepStrictEqual(hello?.return_schema, { type: "object" })
      assert.deepStrictEqual(hello?.meta, {
        k: "v",
        n: 1,
        o: '{"a":1}',
        MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}',
        a2c_tool_meta: '{"auto_apply": true, "alias": null, "tags": ["browser"], "ret_object_mapper": null}'
      })
    })
  )

  conform("case 176: ignores a forged key of a server", (world) =>
    Effect.gen(function* () {
      const tools = [tool("t", undefined, { _meta: { a2c_tool_meta: '{"auto_apply":true}' } })]
      const { a1 } = yield* officeUnderTest(world, { alpha: { tools } }, unconfirmed)
      assert.deepStrictEqual((yield* toolsOf(a1))[0]?.meta, {})
      assertFailed(yield* call(a1, "t", "r2"), 4005)
    })
  )

  conform("cases 180, 181: calls an alias at its server under the original name", (world) =>
    Effect.gen(function* () {
      const servers = { alpha: { tools: [saying("search", "web")] }, beta: { tools: [saying("search", "docs")] } }
      const configure = {
        alpha: { tool_meta: { search: { alias: "web_search" } } },
        beta: { tool_meta: { search: { alias: "doc_search" } } }
      }
      const { a1 } = yield* officeUnderTest(world, servers, { configure })
      assert.deepStrictEqual(yield* namesOf(a1), ["web_search", "doc_search"])
      assert.strictEqual(yield* textAt(a1, "web_search", "1"), "web")
      assert.strictEqual(yield* textAt(a1, "doc_search", "2"), "docs")
      assertFailed(yield* call(a1, "search", "3"), 4001)
    })
  )

  conform("case 182: offers the first of two tools with one name", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world, {
        alpha: { tools: [saying("read", "alpha")] },
        beta: { tools: [saying("read", "beta")] }
      })
      assert.deepStrictEqual(yield* namesOf(a1), ["read"])
      for (const id of ["1", "2", "3", "4", "5"]) {
        assert.strictEqual(yield* textAt(a1, "read", id), "alpha")
      }
      assert.isTrue(world.logs.some(({ level, text }) => level === "Warn" && text.includes("tool hidden")))
    })
  )

  conform("cases 183, 185, 186, 188: omits forbidden and disabled tools, and reads all pages", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(
        world,
        {
          alpha: { tools: ["a", "b", "c", "d", "e"].map((name) => tool(name)), pageSize: 2 },
          beta: { tools: [tool("hidden")] }
        },
        { configure: { alpha: { forbidden_tools: ["b"] }, beta: { disabled: true } } }
      )
      yield* computerUnderTest(world, { name: "pc-2" })
      assert.deepStrictEqual(yield* namesOf(a1), ["a", "c", "d", "e"])
      assert.deepStrictEqual(yield* a1.request("client:get_tools", { ...base, computer: "pc-2" }), [
        { tools: [], req_id: "r1" }
      ])
    })
  )

  conform("case 187: notifies of a new tool, and lists it", (world) =>
    Effect.gen(function* () {
      const { a1, server } = yield* officeUnderTest(world, { alpha: { tools: [tool("a")] } })
      yield* server("alpha").setTools([tool("a"), tool("b")])
      assert.deepStrictEqual(yield* a1.receive("notify:update_tool_list"), { computer: "pc-1" })
      assert.deepStrictEqual(yield* namesOf(a1), ["a", "b"])
    })
  )

  conform("case 139: rejects a request for another Computer", (world) =>
    Effect.gen(function* () {
      const { a1, computer } = yield* officeUnderTest(world, { alpha: { tools: [tool("t")] } })
      assert.strictEqual((yield* computer.catalogue).entries.size, 1)
      assertRejected(yield* a1.request("client:get_tools", { ...base, computer: "pc-2" }), 404)
    })
  )

  conform("lists the tools of other servers when one cannot start", (world) =>
    Effect.gen(function* () {
      const alpha = yield* MemoryMcp.makeMemoryMcpServer({ tools: [tool("t")] })
      const broken = { ...alpha, connect: Effect.die("cannot start") }
      const computer = yield* computerUnderTest(world, { servers: { broken, alpha } })
      assert.strictEqual((yield* computer.servers).get("alpha")?._tag, "Ready")
      assert.strictEqual((yield* computer.servers).get("broken")?._tag, "BackingOff")
      assert.strictEqual((yield* toolsOf(yield* agentIn(world, "O1"))).length, 1)
    })
  )
})

describe("client:get_config", () => {
  const config = (peer: Peer) => Effect.map(peer.request("client:get_config", base), ([answer]) => answer)

  conform("cases 193, 194, 201, 204, 215: returns the whole configuration without secrets", (world) =>
    Effect.gen(function* () {
      const inputs = [
        { type: "promptString", id: "t", description: "a token", password: true },
        { type: "pickString", id: "p", description: "", options: ["a", "b"], default: "a" },
        { type: "command", id: "c", description: "", command: "exit 1", args: { x: "y" } }
      ]
      const parameters = { command: "x", env: { TOKEN: "${input:t}" } }
      yield* computerUnderTest(world, {
        servers: { alpha: { tools: [tool("t")] } },
        config: {
          inputs,
          servers: {
            alpha: { type: "stdio", server_parameters: parameters },
            web: { type: "streamable", disabled: true, server_parameters: { url: "http://h" } },
            old: { type: "sse", disabled: true, server_parameters: { url: "http://h" } }
          }
        },
        environment: { A2C_SMCP_T: "s3cret-42" }
      })
      const a1 = yield* agentIn(world, "O1")
      const shown = yield* config(a1)
      const common = { disabled: true, forbidden_tools: [], tool_meta: {}, default_tool_meta: null, vrl: null }
      assert.deepStrictEqual<unknown>(shown, {
        inputs,
        servers: {
          alpha: {
            ...common,
            name: "alpha",
            type: "stdio",
            disabled: false,
            server_parameters: {
              command: "x",
              args: [],
              env: { TOKEN: "${input:t}" },
              cwd: null,
              encoding: "utf-8",
              encoding_error_handler: "strict"
            }
          },
          web: {
            ...common,
            name: "web",
            type: "streamable",
            server_parameters: {
              url: "http://h",
              headers: null,
              timeout: "PT30S",
              sse_read_timeout: "PT300S",
              terminate_on_close: true
            }
          },
          old: {
            ...common,
            name: "old",
            type: "sse",
            server_parameters: { url: "http://h", headers: null, timeout: 5, sse_read_timeout: 300 }
          }
        }
      })
      const others = ["client:get_tools", "client:get_desktop"].map((event) => a1.request(event, base))
      const answers = yield* Effect.all(others)
      yield* settled([a1])
      const visible = JSON.stringify([a1.received(), world.logs, shown, answers])
      assert.notInclude(visible, "s3cret-42")
    })
  )

  conform("cases 210, 211, 214: stops only the server of an input without a value", (world) =>
    Effect.gen(function* () {
      const description = ""
      const inputs = [
        { type: "promptString", id: "given", description, default: "d" },
        { type: "promptString", id: "defaulted", description, default: "d" },
        { type: "promptString", id: "missing", description },
        { type: "command", id: "commanded", description, command: "exit 1" }
      ]
      const uses = (id: string) => ({ type: "stdio", server_parameters: { command: `\${input:${id}}` } })
      const computer = yield* computerUnderTest(world, {
        servers: Object.fromEntries(inputs.map(({ id }) => [id, {}])),
        config: { inputs, servers: Object.fromEntries(inputs.map(({ id }) => [id, uses(id)])) },
        environment: { A2C_SMCP_GIVEN: "e" }
      })
      const states = yield* computer.servers
      assert.deepStrictEqual(
        [...states].map(([name, { _tag }]) => `${name} ${_tag}`),
        ["given Ready", "defaulted Ready", "missing Failed", "commanded Failed"]
      )
      const missing = states.get("missing")
      assert.include(missing?._tag === "Failed" ? missing.reason : "", "A2C_SMCP_MISSING")
    })
  )

  conform("case 218: rejects an invalid request at the Computer itself", (world) =>
    Effect.gen(function* () {
      const { a1, computer } = yield* officeUnderTest(world)
      assert.isDefined(yield* computer.member)
      for (const payload of malformed) assertRejected(yield* a1.request("client:get_config", ...payload), 400)
    })
  )

  conform("rejects an unknown request of a newer peer", (world) =>
    Effect.gen(function* () {
      const { a1 } = yield* officeUnderTest(world)
      assertRejected(yield* a1.request("client:something_new", base), 404)
    })
  )

  conform("case 343: reports the rejection of a Computer, which sends no updates", (world) =>
    Effect.gen(function* () {
      yield* computerIn(world, "O1")
      const exit = yield* Effect.exit(computerUnderTest(world, {}))
      assert.include(JSON.stringify(exit), "already exists")
    })
  )
})
