import { assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { allowAll } from "../../src/application/ports/Authenticator.ts"
import { isJsonObject } from "../../src/domain/json.ts"
import { handshake } from "../adapters/auth/handshakes.ts"
import { agentIn, assertDenied, assertRejected, bodiesOf, computerIn, join, settled } from "./cast.ts"
import { conform, type World } from "./World.ts"

const instance = "0123456789abcdef0123456789abcdef"

const member = (world: World, role: "agent" | "computer", given: unknown = instance) =>
  world.connect({ auth: { role, instance: given } })

describe("takeover of an open connection", () => {
  conform("replaces the old connection and closes it", (world) =>
    Effect.gen(function* () {
      const watcher = yield* computerIn(world, "O1", "watcher")
      const ghost = yield* member(world, "agent")
      yield* join(ghost, "agent", "agent-1", "O1")
      const back = yield* member(world, "agent")
      assert.deepStrictEqual(yield* join(back, "agent", "agent-1", "O1"), [true, null])
      yield* ghost.closed
      yield* settled([back], [watcher])
      assert.deepStrictEqual(
        watcher.heard().map(({ event }) => event),
        ["notify:enter_office", "notify:leave_office", "notify:enter_office"]
      )
      assert.deepStrictEqual(bodiesOf(back, "notify:leave_office"), [])
    })
  )

  conform("receives later requests, and ends those of the old connection", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const ghost = yield* member(world, "computer")
      yield* join(ghost, "computer", "pc-1", "O1")
      yield* ghost.answers(() => Effect.never)
      const ask = a1.ask("client:get_tools", { computer: "pc-1", agent: "agent-1", req_id: "r1" })
      const waiting = yield* Effect.forkChild(ask, { startImmediately: true })
      yield* ghost.hear("client:get_tools")
      const back = yield* member(world, "computer")
      yield* back.answers(() => Effect.succeed([{ tools: [], req_id: "r2" }]))
      yield* join(back, "computer", "pc-1", "O1")
      assertRejected(yield* Fiber.join(waiting), 404)
      const again = { computer: "pc-1", agent: "agent-1", req_id: "r2" }
      assert.deepStrictEqual(yield* a1.ask("client:get_tools", again), [{ tools: [], req_id: "r2" }])
    })
  )

  conform("requires the secret of the member", (world) =>
    Effect.gen(function* () {
      const first = yield* member(world, "computer")
      yield* join(first, "computer", "pc-1", "O1")
      for (const given of ["guess", "", 7, "x".repeat(1000)]) {
        const other = yield* member(world, "computer", given)
        const [accepted] = yield* join(other, "computer", "pc-1", "O1")
        assert.isFalse(accepted)
      }
    })
  )

  conform(
    "requires the subject of the member beside the secret",
    (world) =>
      Effect.gen(function* () {
        const as = (token: string) => world.connect({ auth: { role: "computer", instance, token } })
        const first = yield* as("alice")
        assert.deepStrictEqual(yield* join(first, "computer", "pc-1", "O1"), [true, null])
        const thief = yield* as("mallory")
        assert.include(assertDenied(yield* join(thief, "computer", "pc-1", "O1")), "already exists")
        assert.deepStrictEqual(yield* join(yield* as("alice"), "computer", "pc-1", "O1"), [true, null])
        yield* first.closed
      }),
    {
      authenticator: {
        ...allowAll,
        authenticate: ({ auth }) =>
          Effect.map(allowAll.authenticate(handshake({})), (identity) => ({
            ...identity,
            subject: isJsonObject(auth) ? String(auth["token"]) : ""
          }))
      }
    }
  )

  conform("never reveals or logs the secret", (world) =>
    Effect.gen(function* () {
      const a1 = yield* agentIn(world, "O1")
      const ghost = yield* member(world, "computer")
      yield* join(ghost, "computer", "pc-1", "O1")
      yield* join(yield* member(world, "computer"), "computer", "pc-1", "O1")
      const listing = { agent: "agent-1", req_id: "r1", office_id: "O1" }
      const answers = yield* a1.ask("server:list_room", listing)
      assert.notInclude(JSON.stringify([answers, a1.heard()]), instance)
      for (const { text } of world.logs) assert.notInclude(text, instance)
    })
  )
})
