import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { agentUnderTest } from "../../conformance/members.ts"
import { makeComputer, makePlace, testTimeout } from "../../main/computers.ts"
import { makeGateway, registration, until } from "./world.ts"

describe("Computer with the devices of an in-process gateway", () => {
  it.live(
    "offers a lamp to an Agent like any tool, while the lamp is connected",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const gateway = yield* makeGateway()
          const place = yield* makePlace
          yield* makeComputer(
            place,
            {
              devices: {
                type: "stdio",
                server_parameters: { command: "-" },
                default_tool_meta: { auto_apply: true }
              }
            },
            {
              office: "home",
              sessions: { devices: gateway.session },
              settings: { startupTimeout: testTimeout }
            }
          )
          const agent = yield* agentUnderTest(place, { office: "home" })
          const tools = Effect.map(Effect.orDie(agent.getTools("pc-1")), (all) => all.map(({ name }) => name).join())
          assert.strictEqual(yield* tools, "")
          const lamp = yield* gateway.newDevice
          yield* lamp.auth("##name:lamp")
          yield* lamp.next
          yield* lamp.message(registration("on"))
          yield* until(Effect.map(tools, (names) => names === "lamp__on"))
          const call = yield* Effect.forkChild(agent.callTool({ computer: "pc-1", tool: "lamp__on" }))
          yield* lamp.succeed(yield* lamp.nextCall, "bright")
          assert.deepStrictEqual((yield* Fiber.join(call)).content, [{ type: "text", text: "bright" }])
          yield* lamp.hangUp
          yield* until(Effect.map(tools, (names) => names === ""))
        })
      ),
    Duration.toMillis(testTimeout)
  )
})
