import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope, Stream } from "effect"
import { allowAll } from "../../../../../src/application/ports/Authenticator.ts"
import { allGrants, type Grants } from "../../../../../src/domain/model/Identity.ts"
import { lineNamed } from "../../../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../../../src/domain/wire/version.ts"
import { settle } from "../../../../settle.ts"
import { line, node, olga, operatorOf, startWatched, toolResult, type Watched } from "../watchedServer.ts"
import type { Operator } from "../../../../../src/application/shared/page/PageSource.ts"
import { effectWith } from "../../../../testWith.ts"
import { partsOf } from "../../../../page/scripted/snapshotParts.ts"

const request = { line, office: "O", computer: "pc", tool: "fs:list", params: {}, timeout: 60 }

const call = ({ watch }: Watched, operator: Operator, given: Partial<typeof request> = {}) =>
  watch.call({ ...request, ...given }, operator)

/** Starts a call in its own scope, which ends it. */
const begin = Effect.fnUntraced(function* (
  server: Watched,
  operator: Operator = olga,
  given?: Partial<typeof request>
) {
  const scope = yield* Scope.make()
  const stream = yield* Scope.provide(call(server, operator, given), scope)
  yield* Effect.forkIn(Stream.runDrain(stream), scope, { startImmediately: true })
  yield* settle
  return { end: Scope.close(scope, Exit.void) }
})

/** The code of a call that is rejected. */
const codeOf = (server: Watched, operator: Operator, given?: Partial<typeof request>) =>
  Effect.map(Effect.flip(Effect.scoped(call(server, operator, given))), ({ code }) => code)

const membersOf = ({ watch }: Watched) =>
  Effect.map(Effect.scoped(watch.open), ({ snapshot }) => partsOf(snapshot).members.map(({ name }) => name))

const runningCalls = ({ watch }: Watched) =>
  Effect.map(Effect.scoped(watch.open), ({ snapshot }) => partsOf(snapshot).calls.length)

/** An office with a Computer that does not reply. */
const office = Effect.tap(startWatched(), (server) => server.computer("pc", { answer: () => Effect.never }))

const test = effectWith(office)

describe("the membership of an operator", () => {
  test("is shared by the calls of one operator, and ends with the last one", function* (server) {
    const first = yield* begin(server)
    const second = yield* begin(server, operatorOf("olga"))
    assert.strictEqual(yield* runningCalls(server), 2)
    yield* first.end
    assert.strictEqual(yield* runningCalls(server), 1)
    assert.deepStrictEqual(yield* membersOf(server), ["pc", "operator:olga"])
    yield* second.end
    assert.deepStrictEqual(yield* membersOf(server), ["pc"])
  })

  it.effect("ends with the result of the last call, though the scope of the call is open", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("done")) })
      yield* Effect.flatMap(call(server, olga), Stream.runDrain)
      assert.deepStrictEqual(yield* membersOf(server), ["pc"])
    })
  )

  test("is separate in offices of one id on different lines", function* (server) {
    const later = lineNamed("0.3")
    const version = formatVersion(later.version)
    const computer = yield* server.computer("pc", { version, answer: () => Effect.never })
    yield* begin(server)
    yield* begin(server, olga, { line: later.name })
    assert.strictEqual(computer.received.filter(({ event }) => event === "client:tool_call").length, 1)
  })

  test("is separate in every office", function* (server) {
    yield* server.computer("pc", { office: "P", answer: () => Effect.never })
    yield* begin(server)
    yield* begin(server, olga, { office: "P" })
    const { snapshot } = yield* server.watch.open
    const agents = partsOf(snapshot).members.filter(({ role }) => role === "agent")
    assert.deepStrictEqual(
      agents.map((member) => member.office),
      ["O", "P"]
    )
  })

  test("rejects a real Agent while it lasts, and makes room for it when it ends", function* (server) {
    const { end } = yield* begin(server)
    const agent = yield* server.connect("agent")
    const join = agent.request("server:join_office", { role: "agent", name: "ada", office_id: "O" })
    assert.strictEqual(yield* join, false)
    yield* end
    assert.strictEqual(yield* join, true)
    assert.deepStrictEqual(yield* membersOf(server), ["pc", "ada"])
  })

  it.effect("needs no credentials of its client", () =>
    Effect.gen(function* () {
      const authenticator = { ...allowAll, authenticate: () => Effect.die("an operator has authenticated") }
      const server = yield* startWatched({ authenticator })
      assert.strictEqual(yield* codeOf(server, olga), 404)
    })
  )
})

describe("a call of an operator", () => {
  test("fails with 409 beside an Agent, which it names", function* (server) {
    yield* server.agent()
    const { code, message } = yield* Effect.flip(call(server, olga))
    assert.strictEqual(code, 409)
    assert.include(message, "the Agent 'ada'")
  })

  test("finds its place free: no Agent may take its name", function* (server) {
    yield* server.agent("operator:olga")
    yield* begin(server)
    assert.deepStrictEqual(yield* membersOf(server), ["pc", "operator:olga"])
  })

  test("fails with 409 while another operator calls, and not afterwards", function* (server) {
    const { end } = yield* begin(server)
    const otto = operatorOf("otto")
    assert.strictEqual(yield* codeOf(server, otto), 409)
    yield* end
    yield* begin(server, otto)
  })

  test("succeeds when the Agent has left meanwhile", function* (server) {
    const agent = yield* server.agent("ada")
    yield* Effect.flip(call(server, olga))
    yield* agent.close
    yield* begin(server)
  })

  const olgaWith = (grants: Partial<Grants>) => operatorOf("olga", { ...allGrants, ...grants })

  it.effect.each([
    ["403 without the right to be an Agent", olgaWith({ rights: ["operator"] }), {}, 403],
    ["403 without the right to the office", olgaWith({ offices: ["P"] }), {}, 403],
    ["403 without the right to the name", olgaWith({ names: ["ada"] }), {}, 403],
    ["404 for an absent Computer", olga, { computer: "other" }, 404],
    ["404 for a line that is not served", olga, { line: "9.9" }, 404]
  ] as const)("fails with %s", ([, operator, given, code]) =>
    Effect.gen(function* () {
      const server = yield* office
      assert.strictEqual(yield* codeOf(server, operator, given), code)
      assert.deepStrictEqual(yield* membersOf(server), ["pc"])
    })
  )

  test("fails with 503 while the Server drains, although an earlier call runs", function* (server) {
    yield* begin(server)
    yield* server.watch.execute({ _tag: "Drain", node }, olga)
    assert.strictEqual(yield* codeOf(server, olga), 503)
  })

  it.effect("fails when the Server has no slot for another connection", () =>
    Effect.gen(function* () {
      const server = yield* startWatched({ limits: { connections: 1 } })
      yield* server.computer("pc", { answer: () => Effect.never })
      assert.strictEqual(yield* codeOf(server, olga), 503)
    })
  )
})
