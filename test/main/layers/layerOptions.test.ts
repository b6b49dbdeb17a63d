import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { ApprovalStore } from "../../../src/application/ports/approvals/ApprovalStore.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import type { ComputerOptions, NodeAgentConnectOptions, ServerOptions } from "../../../src/main/entrypoints/promise.ts"
import type { agentLayer } from "../../../src/main/layers/agentLayer.ts"
import { computerLayer } from "../../../src/main/layers/computerLayer.ts"
import type { ServerLayerOptions } from "../../../src/main/layers/serverLayer.ts"
import { tool } from "../../conformance/members.ts"
import { type OptionRows, testOptions } from "../promise/optionRows.ts"
import { portDefaults } from "../../portDefaults.ts"

type LayerOptions = Parameters<typeof computerLayer>[0]

/** The options of a layer that no option of the Promise API leads to: those have the tests of the Promise API. */
type Others<Options, Covered> = Omit<Options, keyof Covered>

/** The compiler asks for a row for each further option. */
const serverRows: OptionRows<Others<ServerLayerOptions, ServerOptions>> = {}
/** What an Agent reads of Computers has the tests of its commands. */
const agentRows: OptionRows<
  Omit<Others<Parameters<typeof agentLayer>[0], NodeAgentConnectOptions>, "followsComputers">
> = {}

const running = <A>(options: Partial<LayerOptions>, use: (computer: Computer["Service"]) => Effect.Effect<A>) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const member = { url: "http://127.0.0.1:1", name: "desk", config: { inputs: [], servers: {} } }
        return yield* use(
          Context.get(
            yield* Layer.build(Layer.provide(computerLayer({ ...member, ...options }), portDefaults)),
            Computer
          )
        )
      })
    )
  )

const session = Effect.runSync(
  Effect.scoped(Effect.flatMap(makeMemoryMcpServer({ tools: [tool("t")] }), ({ connect }) => connect))
)

let prepared = 0

/** The time for an authorization has the tests of the Authorizer. */
const computerRows: OptionRows<Omit<Others<LayerOptions, ComputerOptions>, "authorizationTimeout">> = {
  approvals: [
    {
      approvals: Layer.succeed(ApprovalStore, {
        load: () =>
          Effect.succeed({
            pins: [],
            grants: [{ id: "g", server: "a", tool: "t", toolDigest: "d", by: "owner", at: 0 }]
          }),
        save: () => Effect.void
      })
    },
    [[], ["g"]],
    (given) => running(given, ({ grants }) => Effect.map(grants, (all) => all.map(({ id }) => id)))
  ],
  sessions: [
    { sessions: { memory: session } },
    [[], ["memory"]],
    (given) => running(given, ({ servers }) => Effect.map(servers, (states) => [...states.keys()]))
  ],
  prepare: [
    { prepare: Effect.sync(() => void prepared++) },
    [0, 1],
    async (given) => {
      await running(given, () => Effect.void)
      return prepared
    }
  ]
}

describe("computerLayer", () => {
  testOptions(computerRows)
})

describe("the other layers", () => {
  it("adds no options to those of the Promise API", () => {
    assert.deepStrictEqual([serverRows, agentRows], [{}, {}])
  })
})
