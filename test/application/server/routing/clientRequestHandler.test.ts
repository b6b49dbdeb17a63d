import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { OfficeCommand } from "../../../../src/application/ports/OfficeRegistry.ts"
import { makeMembershipCoordinator } from "../../../../src/application/server/membership/MembershipCoordinator.ts"
import { makeCallStatusForwarding } from "../../../../src/application/server/routing/callStatus.ts"
import { makeClientRequestHandler } from "../../../../src/application/server/routing/clientRequestHandler.ts"
import { makeLink, makeParts, makeRequest, openMember, recordLogs } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

/** The handler of an Agent `ada` and a Computer `pc` in the office `O`, and its log. Calls never end. */
const start = Effect.fnUntraced(function* (adapt?: Parameters<typeof makeParts>[1]) {
  const parts = yield* makeParts({}, adapt)
  const { connections, notifications, provide } = parts
  const coordinator = yield* provide(makeMembershipCoordinator(parts))
  const forwardCallStatus = yield* provide(makeCallStatusForwarding(connections))
  const route = () => Effect.never
  const handle = yield* provide(makeClientRequestHandler({ coordinator, forwardCallStatus, notifications, route }))
  const agent = yield* openMember(parts, makeLink("ada").link, "agent")
  const computer = yield* openMember(parts, makeLink("pc").link, "computer")
  const { entries, layer } = recordLogs()
  const handler =
    (connection: typeof agent) =>
    (event: string, value: unknown): Effect.Effect<ReadonlyArray<unknown>> =>
      Effect.map(handle(makeRequest(connection, event, value)), (reply) =>
        reply.map((body) => Result.getOrThrow(body.value()))
      ).pipe(Effect.provide(layer))
  return { ...parts, agent, asAgent: handler(agent), asComputer: handler(computer), entries }
})

const list = (office: string) => ({ agent: "ada", req_id: "r", office_id: office })

const test = effectWith(start())

describe("the handler of requests", () => {
  test("logs a dropped message with its sender, its event and the reason", function* ({ asComputer, entries }) {
    assert.deepStrictEqual(yield* asComputer("server:update_desktop", { computer: "other" }), [])
    const reason = 'computer must be your own name, not "other"'
    assert.deepStrictEqual(entries, [
      ["Warn", "message dropped", { sid: "pc", event: "server:update_desktop", reason }]
    ])
  })

  test("logs forbidden requests as warnings, and other rejected requests for debugging", function* ({
    asAgent,
    asComputer,
    entries
  }) {
    yield* asComputer("server:list_room", list("O"))
    yield* asAgent("server:list_room", {})
    const [forbidden, invalid, ...others] = entries
    assert.deepStrictEqual(others, [])
    const fields = { sid: "pc", event: "server:list_room", code: 403, reason: "Only agents may send this" }
    assert.deepStrictEqual(forbidden, ["Warn", "request rejected", fields])
    assert.deepStrictEqual(invalid?.slice(0, 2), ["Debug", "request rejected"])
  })

  test("logs and names the other office whose members an Agent requests", function* ({ asAgent, entries }) {
    const [error] = yield* asAgent("server:list_room", list("P"))
    assert.include((error as { readonly message: string }).message, "'P'")
    assert.deepStrictEqual(entries[0], [
      "Warn",
      "list request for another office rejected",
      { sid: "ada", office: "P" }
    ])
  })

  test("charges a list by its members", function* (parts) {
    for (let other = 0; other < 30; other++) yield* openMember(parts, makeLink(`pc ${other}`).link, "computer")
    const { tokens } = parts.agent.bucket
    yield* parts.asAgent("server:list_room", list("O"))
    assert.strictEqual(parts.agent.bucket.tokens, tokens - 2)
  })

  it.effect.each([
    [false, undefined],
    [true, ["mcp"]]
  ] as const)(
    "names the features of the Server in a list, to an Agent that knows statuses: %s",
    ([callStatus, features]) =>
      Effect.gen(function* () {
        const { agent, asAgent } = yield* start()
        Object.assign(agent, { features: { ...agent.features, callStatus } })
        const [reply] = yield* asAgent("server:list_room", list("O"))
        assert.deepStrictEqual((reply as { readonly a2c_features?: unknown }).a2c_features, features)
      })
  )

  it.effect("passes leaves to the registry", () =>
    Effect.gen(function* () {
      const commands: Array<OfficeCommand> = []
      const { asComputer } = yield* start(({ registry }) => ({
        registry: {
          ...registry,
          apply: (command, capacity) =>
            Effect.andThen(
              Effect.sync(() => void commands.push(command)),
              registry.apply(command, capacity)
            )
        }
      }))
      assert.deepStrictEqual(yield* asComputer("server:leave_office", { office_id: "O" }), [true, null])
      assert.deepStrictEqual(commands.at(-1), { _tag: "Leave", sid: "pc", office: "O" })
    })
  )

  it.effect("replies with 500 when a request fails unexpectedly, in the shape of its event", () =>
    Effect.gen(function* () {
      const { asAgent, asComputer, entries } = yield* start(({ registry }) => ({
        registry: {
          ...registry,
          apply: (command, capacity) =>
            command._tag === "Leave" ? Effect.die(new Error("no store")) : registry.apply(command, capacity),
          members: () => {
            throw new Error("no store")
          }
        }
      }))
      assert.deepStrictEqual(yield* asAgent("server:list_room", list("O")), [{ code: 500, message: "Internal error" }])
      assert.deepStrictEqual(yield* asComputer("server:leave_office", { office_id: "O" }), [false, "Internal error"])
      assert.deepStrictEqual(yield* asComputer("server:update_desktop", { computer: "pc" }), [])
      const failed = ["Error", "request failed"]
      assert.deepStrictEqual(
        entries.map(([level, message]) => [level, message]),
        [failed, failed, failed]
      )
    })
  )

  it.effect("passes the status of a call on to the node of its Agent", () =>
    Effect.gen(function* () {
      const passed: Array<readonly [string, ReadonlyArray<string>, string]> = []
      const elsewhere = {
        membership: { role: "agent", name: "bob", office: "O" },
        node: "far",
        sid: "bob",
        version: "0.2.0",
        joinRevision: 1
      } as const
      const { asComputer } = yield* start(({ nodeLink, registry }) => ({
        nodeLink: { ...nodeLink, notify: (node, sids, event) => void passed.push([node, sids, event]) },
        registry: { ...registry, members: () => [elsewhere] }
      }))
      const status = { computer: "pc", req_id: "r", status: "waiting_for_consent" }
      assert.deepStrictEqual(yield* asComputer("server:update_tool_call", status), [])
      assert.deepStrictEqual(passed, [["far", ["bob"], "notify:update_tool_call"]])
    })
  )

  test("drops the status of a call that is too large or names another sender, with the reason", function* ({
    asAgent,
    asComputer,
    entries
  }) {
    const status = { computer: "pc", req_id: "r" }
    yield* asComputer("server:update_tool_call", { ...status, more: "x".repeat(40_000) })
    yield* asComputer("server:update_tool_call", { ...status, computer: "other" })
    yield* asAgent("server:update_tool_call", status)
    assert.deepStrictEqual(
      entries.map(([level, message, fields]) => [level, message, (fields as { readonly reason: string }).reason]),
      [
        ["Warn", "message dropped", "The status of a call must not be larger than 32768 bytes"],
        ["Warn", "message dropped", 'computer must be your own name, not "other"'],
        ["Warn", "message dropped", "Only computers may send this"]
      ]
    )
  })
})
