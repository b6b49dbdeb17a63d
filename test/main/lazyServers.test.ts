import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import * as FileCatalogueStore from "../../src/adapters/catalogues/FileCatalogueStore.ts"
import { agentUnderTest } from "../conformance/members.ts"
import { gone, processes } from "../processes.ts"
import { makeComputer, makePlace, nodeServer, testTimeout, until } from "./computers.ts"
import { everythingServer, memoryServer } from "./processes.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

const office = "O1"

/** The Node processes with this argument. */
const pidsOf = (argument: string): ReadonlyArray<number> =>
  processes()
    .filter(({ command: [program, ...args] }) => program === process.execPath && args.includes(argument))
    .map(({ pid }) => pid)

describe("lazy MCP server in a process", () => {
  it.live("is listed once, runs for a call, stops, and does not start again with its stored catalogue", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const catalogues = FileCatalogueStore.layer(folder)
      const marker = `marker-${process.hrtime.bigint()}`
      const servers = {
        memory: nodeServer(memoryServer, marker),
        everything: nodeServer(everythingServer, "stdio", marker)
      }
      const settings = { startupTimeout: testTimeout, lifecycle: "lazy", idle: Duration.millis(200) } as const
      const options = { catalogues, office, settings }

      const place = yield* makePlace
      const tools = yield* Effect.scoped(
        Effect.gen(function* () {
          const computer = yield* makeComputer(place, servers, options)
          for (const name of Object.keys(servers)) yield* until(computer, name, "Idle")
          return [...(yield* computer.catalogue).entries.keys()]
        })
      )
      yield* gone(pidsOf(marker))

      const computer = yield* makeComputer(place, servers, options)
      const agent = yield* agentUnderTest(place, { office })
      const shown = yield* agent.getTools("pc-1")
      const names = shown.map(({ name }) => name)
      assert.deepStrictEqual(names, tools)
      assert.deepStrictEqual(pidsOf(marker), [])
      const calls = Effect.all(
        [
          agent.callTool({ computer: "pc-1", tool: "read_graph" }),
          agent.callTool({ computer: "pc-1", tool: "echo", params: { message: "hi" } }),
          agent.callTool({ computer: "pc-1", tool: "read_graph" })
        ],
        { concurrency: "unbounded" }
      )
      for (let round = 0; round < 2; round++) {
        assert.deepStrictEqual(
          (yield* calls).map(({ isError }) => isError),
          [false, false, false]
        )
        for (const name of Object.keys(servers)) yield* until(computer, name, "Idle")
        yield* gone(pidsOf(marker))
      }
    })
  )
})
