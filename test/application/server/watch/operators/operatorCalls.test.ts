import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Scope, Stream } from "effect"
import type { PageCallMessage } from "../../../../../src/domain/page/PageCommand.ts"
import { toolCancelled } from "../../../../../src/domain/tools/errorResults.ts"
import { allGrants } from "../../../../../src/domain/model/Identity.ts"
import { TestClock } from "effect/testing"
import { settle } from "../../../../settle.ts"
import {
  elapse,
  line,
  node,
  olga,
  openStream,
  operatorOf,
  outcomesOf,
  startWatched,
  toolResult,
  type Watched
} from "../watchedServer.ts"
import type { Operator } from "../../../../../src/application/shared/page/PageSource.ts"
import { effectWith } from "../../../../testWith.ts"
import { partsOf } from "../../../../page/scripted/snapshotParts.ts"

const request = { line, office: "O", computer: "pc", tool: "fs:list", params: { a: 1 }, timeout: 60 }

const started: PageCallMessage = { _tag: "Started", as: "agent", name: "operator:olga" }

/** Starts a call of an operator and reads its messages until its scope closes. */
const begin = Effect.fnUntraced(function* ({ watch }: Watched, operator: Operator = olga) {
  const scope = yield* Scope.make()
  const messages: Array<PageCallMessage> = []
  const stream = yield* Scope.provide(watch.call(request, operator), scope)
  const reading = Stream.runForEach(stream, (message) => Effect.sync(() => void messages.push(message)))
  const fiber = yield* Effect.forkIn(reading, scope, { startImmediately: true })
  yield* settle
  return { messages, finished: Fiber.join(fiber), close: Scope.close(scope, Exit.void) }
})

/** Starts a call whose messages are read by `next` only; no more come after an empty one. */
const slowReader = Effect.fnUntraced(function* ({ watch }: Watched) {
  const pull = yield* Stream.toPull(yield* watch.call(request, olga))
  const next = Effect.orElseSucceed(pull, (): ReadonlyArray<PageCallMessage> => [])
  return { next }
})

/** An office with a Computer that replies when the test says so. */
const office = Effect.gen(function* () {
  const server = yield* startWatched()
  const gates: Array<Deferred.Deferred<unknown>> = []
  const computer = yield* server.computer("pc", {
    answer: () =>
      Effect.suspend(() => {
        const gate = Deferred.makeUnsafe<unknown>()
        gates.push(gate)
        return Deferred.await(gate)
      })
  })
  const members = Effect.map(Effect.scoped(server.watch.open), ({ snapshot }) =>
    partsOf(snapshot).members.map(({ name }) => name)
  )
  return {
    ...server,
    closeServer: server.close,
    pc: computer,
    members,
    /** Replies to one of the calls. */
    reply: (index: number, value: unknown = toolResult("done")) =>
      Effect.suspend(() => Deferred.succeed(gates[index] ?? assert.fail("no call"), value))
  }
})

/** An office in which a call of an operator runs. */
const runningCall = Effect.flatMap(office, (server) => Effect.map(begin(server), (call) => ({ ...server, ...call })))

const cancelsOf = ({ received }: { readonly received: ReadonlyArray<{ readonly event: string }> }) =>
  received.filter(({ event }) => event === "notify:tool_call_cancel").length

describe("a call of an operator", () => {
  const test = effectWith(runningCall)

  test("is a call by the Agent of the office that is named after the operator", function* ({ messages, watch }) {
    assert.deepStrictEqual(messages, [started])
    const { snapshot } = yield* watch.open
    const identity = { role: "agent", name: "operator:olga", subject: "olga" } as const
    assert.deepInclude(partsOf(snapshot).members.at(-1), { node, line, office: "O", ...identity })
  })

  it.effect("ends with the result for a slow reader, which misses the first statuses", () =>
    Effect.gen(function* () {
      const server = yield* office
      const { next } = yield* slowReader(server)
      assert.deepStrictEqual(yield* next, [started])
      // The reading of the second message starts the call.
      const second = yield* Effect.forkChild(next, { startImmediately: true })
      yield* settle
      const call = server.pc.received.at(-1)?.value as { readonly req_id: string }
      const report = (progress: number) =>
        server.pc.notify("server:update_tool_call", {
          computer: "pc",
          req_id: call.req_id,
          status: "progress",
          progress
        })
      yield* report(0)
      yield* Fiber.join(second)
      for (let progress = 1; progress <= 100; progress += 1) yield* report(progress)
      yield* settle
      yield* server.reply(0)
      yield* settle
      let last: PageCallMessage | undefined
      for (let read = yield* next; read.length > 0; read = yield* next) last = read.at(-1)
      assert.strictEqual(last?._tag, "Result")
    })
  )

  const disconnect = ({ watch }: Effect.Success<typeof runningCall>) =>
    Effect.gen(function* () {
      const { snapshot } = yield* watch.open
      const { sid = "" } = partsOf(snapshot).members.find(({ role }) => role === "agent") ?? {}
      yield* watch.execute({ _tag: "Disconnect", sid }, olga)
    })
  const noSuchTool = { code: 4001, message: "no such tool" }

  it.effect.each([
    ["the error of the Computer", ({ reply }) => reply(0, noSuchTool), noSuchTool],
    ["404 when the Computer disconnects", ({ pc }) => pc.close, { code: 404 }],
    ["408 when the Computer does not reply in time", () => TestClock.adjust("2 minutes"), { code: 408 }],
    ["503 when the connection of the operator's member is closed", disconnect, { code: 503 }],
    ["503 when the Server shuts down", ({ closeServer }) => closeServer, { code: 503 }]
  ] as ReadonlyArray<
    readonly [
      string,
      (call: Effect.Success<typeof runningCall>) => Effect.Effect<unknown, unknown, Scope.Scope>,
      object
    ]
  >)("ends with %s", ([, end, error]) =>
    Effect.gen(function* () {
      const call = yield* runningCall
      yield* end(call)
      yield* call.finished
      const last = call.messages.at(-1)
      assert.deepInclude(last?._tag === "Failed" ? last.error : undefined, error)
    })
  )

  it.effect("is shown in the streams as a call of an Agent", () =>
    Effect.gen(function* () {
      const server = yield* office
      const stream = yield* openStream(server)
      const { finished } = yield* begin(server)
      yield* server.reply(0)
      yield* finished
      yield* elapse()
      const calls = stream.tagged("Call").map(({ call }) => call)
      assert.deepStrictEqual(outcomesOf(calls), ["fs:list: ok"])
      assert.deepInclude(calls[0], { agent: "operator:olga", subject: "olga" })
    })
  )

  test("is cancelled at the Computer when its scope closes", function* ({ close, members, pc }) {
    assert.strictEqual(cancelsOf(pc), 0)
    yield* close
    yield* settle
    assert.strictEqual(cancelsOf(pc), 1)
    assert.deepStrictEqual(yield* members, ["pc"])
  })

  test("ends by a cancellation of its id", function* ({ finished, messages, pc, reply, watch }) {
    const { snapshot } = yield* watch.open
    yield* watch.execute({ _tag: "CancelCall", id: partsOf(snapshot).calls[0]?.id ?? "" }, olga)
    yield* settle
    assert.strictEqual(cancelsOf(pc), 1)
    yield* reply(0, toolCancelled())
    yield* finished
    assert.deepStrictEqual(messages.at(-1), { _tag: "Result", result: toolCancelled() })
  })

  test("is audited, whether it starts or not", function* ({ operatorActions, watch }) {
    yield* Effect.flip(watch.call(request, operatorOf("rob", { ...allGrants, rights: ["operator"] })))
    const { computer, office: name, tool } = request
    const common = { type: "operator", command: "call", line, office: name, computer, tool, remote: "10.0.0.1" }
    assert.deepStrictEqual(yield* operatorActions, [
      { ...common, subject: "olga", outcome: "ok" },
      { ...common, subject: "rob", outcome: "403" }
    ])
  })
})
