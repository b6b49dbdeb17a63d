import { assert, describe } from "@effect/vitest"
import { Effect, Result, Stream } from "effect"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import { agentIn, bodiesOf, settled } from "./joinedMembers.ts"
import { computerUnderTest, tool } from "./members.ts"
import { conform } from "./World.ts"

const setup = (servers: { readonly [name: string]: object }) => ({
  variables: {},
  config: Result.getOrThrow(
    parseComputerConfig({
      servers: Object.fromEntries(
        Object.entries(servers).map(([name, more]) => [
          name,
          {
            type: "stdio",
            server_parameters: { command: "memory" },
            default_tool_meta: { auto_apply: true },
            ...more
          }
        ])
      )
    })
  )
})

describe("reconfiguration at run time", () => {
  conform("case 217: notifies once of each added, changed and removed server", (world) =>
    Effect.gen(function* () {
      const servers = { alpha: { tools: [tool("a")] }, beta: { tools: [tool("b")] } }
      const computer = yield* computerUnderTest(world, { servers })
      yield* computer.reconfigure(setup({ alpha: {} }))
      const a1 = yield* agentIn(world, "O1")
      const changes: ReadonlyArray<{ readonly [name: string]: object }> = [
        { alpha: {}, beta: {} },
        { alpha: {}, beta: { forbidden_tools: ["b"] } },
        { alpha: {} }
      ]
      for (const [index, next] of changes.entries()) {
        yield* computer.reconfigure(setup(next))
        assert.deepStrictEqual(yield* a1.receive("notify:update_config"), { computer: "pc-1" })
        if (index < 2) yield* a1.receive("notify:update_tool_list")
        const request = { computer: "pc-1", agent: "agent-1", req_id: `r${index}` }
        const [config] = yield* a1.request("client:get_config", request)
        assert.deepStrictEqual(Object.keys((config as { servers: object }).servers), Object.keys(next))
      }
      yield* computer.reconfigure(setup({ alpha: {} }))
      yield* settled([a1])
      assert.lengthOf(bodiesOf(a1, "notify:update_config"), 3)
      assert.lengthOf(bodiesOf(a1, "notify:update_tool_list"), 2)
    })
  )

  conform("case 146: reports the position of a script error, and never starts its server", (world) =>
    Effect.gen(function* () {
      const computer = yield* computerUnderTest(world, {
        servers: { alpha: { tools: [tool("a")] } },
        configure: { alpha: { vrl: ".processed = " } }
      })
      const state = yield* computer.changes.pipe(
        Stream.map((states) => states.get("alpha")),
        Stream.filter((found) => found?._tag === "Failed"),
        Stream.runHead,
        Effect.flatMap(Effect.fromOption)
      )
      assert.match(state.reason, /VRL script does not compile: line 1/)
      assert.strictEqual((yield* computer.catalogue).entries.size, 0)
    })
  )
})
