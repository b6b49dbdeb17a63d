import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { makeCluster } from "../../../../src/adapters/memory/MemoryCluster.ts"
import * as MemoryOfficeRegistry from "../../../../src/adapters/memory/MemoryOfficeRegistry.ts"
import type { Member } from "../clusterNode.ts"
import { DocumentReader } from "../../../../src/application/ports/files/DocumentReader.ts"
import type { PageCallMessage, PageCommand } from "../../../../src/domain/page/PageCommand.ts"
import {
  elapse,
  line,
  makeCall,
  olga,
  openStream,
  operatorOf,
  startCall,
  startWatched,
  toolResult
} from "./watchedServer.ts"
import { effectWith } from "../../../testWith.ts"
import { partsOf } from "../../../page/scripted/snapshotParts.ts"

/** Two Servers of one cluster, of which the second one has an office with an Agent and a Computer. */
const twoNodes = Effect.fnUntraced(function* (
  answer: (event: string, value: unknown) => Effect.Effect<unknown> = () => Effect.succeed(toolResult("done")),
  auth: { readonly [name: string]: ReadonlyArray<string> } = {},
  name = "two"
) {
  const cluster = makeCluster()
  const one = yield* startWatched({ cluster, name: "one" })
  const two = yield* startWatched({ cluster, name, watch: { bodies: {} } })
  const computer = yield* two.computer("pc", { answer, auth })
  return { cluster, one, two, computer }
})

/** Time for the nodes to find each other, and for a batch. */
const find = Effect.andThen(elapse("1100 millis"), elapse("200 millis"))

/** Two Servers that know each other, and a stream of the first one. */
const watching = Effect.fnUntraced(function* (...given: Parameters<typeof twoNodes>) {
  const nodes = yield* twoNodes(...given)
  const stream = yield* openStream(nodes.one)
  yield* find
  return { ...nodes, stream }
})

const at = { line, office: "O", computer: "pc" }

const eventsOf = ({ received }: Member) => received.map(({ event }) => event)

const resultOf = <A, R>(effect: Effect.Effect<A, { readonly code: number }, R>) =>
  Effect.match(effect, { onSuccess: (value): unknown => value, onFailure: ({ code }) => code })

describe("a stream in a cluster", () => {
  const test = effectWith(watching())

  test("shows the members of another node", ({ computer, stream }) =>
    assert.deepStrictEqual(
      stream.tagged("Entered").map(({ member: { name, node, sid } }) => ({ name, node, sid })),
      [{ name: "pc", node: "two", sid: computer.sid }]
    ))

  test("shows members that join another node later, and leave it", function* ({ stream, two }) {
    const late = yield* two.computer("late")
    yield* elapse("300 millis")
    yield* late.close
    yield* elapse("300 millis")
    const entered = stream.tagged("Entered").map(({ member }) => member.sid)
    assert.include(entered, late.sid)
    assert.deepStrictEqual(stream.tagged("Left"), [{ _tag: "Left", sid: late.sid, at: 1600 }])
  })

  test("shows the state of both nodes", ({ stream }) => {
    const states = new Map(stream.tagged("Node").map(({ node: { node, state } }) => [node, state]))
    assert.deepStrictEqual(Object.fromEntries(states), { one: "ready", two: "ready" })
  })

  test("shows the calls of another node, with their ends", function* ({ stream, two }) {
    yield* makeCall(yield* two.agent())
    yield* elapse("300 millis")
    const call = stream.tagged("Call").at(-1)?.call
    assert.deepStrictEqual({ node: call?.node, outcome: call?.outcome }, { node: "two", outcome: "ok" })
  })

  effectWith(twoNodes(() => Effect.never))(
    "shows the calls of another node that run when it opens",
    function* ({ one, two }) {
      yield* startCall(yield* two.agent())
      const stream = yield* openStream(one)
      yield* find
      assert.deepStrictEqual(
        stream.tagged("Call").map(({ call }) => ({ node: call.node, outcome: call.outcome })),
        [{ node: "two", outcome: undefined }]
      )
    }
  )

  test("counts the calls that another node leaves out", function* ({ stream, two }) {
    const agent = yield* two.agent()
    yield* Effect.forEach(Array.from({ length: 50 }), () => makeCall(agent), { concurrency: "unbounded" })
    yield* elapse("300 millis")
    const omitted = stream.batches.reduce((sum, { omittedCalls }) => sum + omittedCalls, 0)
    const shown = new Set(stream.tagged("Call").map(({ call }) => call.id)).size
    assert.deepStrictEqual({ all: omitted + shown, isOmitting: omitted > 0 }, { all: 50, isOmitting: true })
  })

  test("shows that a node has gone", function* ({ stream, two }) {
    yield* two.close
    yield* elapse("2 seconds")
    assert.deepStrictEqual(stream.tagged("NodeLost"), [{ _tag: "NodeLost", node: "two", at: 1300 }])
  })

  it.effect("shows a node that joins later", () =>
    Effect.gen(function* () {
      const cluster = makeCluster()
      const one = yield* startWatched({ cluster, name: "one" })
      const stream = yield* openStream(one)
      yield* find
      const two = yield* startWatched({ cluster, name: "two" })
      yield* two.computer()
      yield* find
      assert.lengthOf(stream.tagged("Entered"), 1)
    })
  )

  effectWith(twoNodes())("closes its stream of the other node when it ends", function* ({ one, two }) {
    // The other node admits 16 streams.
    for (let page = 0; page < 20; page++) yield* Effect.scoped(Effect.andThen(openStream(one), find))
    yield* openStream(two)
  })

  it.effect.each([
    ["before it knows the node", Effect.void],
    ["later", find]
  ] as const)("shows the inspections of a Computer at another node, in an office that it watches %s", ([, before]) =>
    Effect.gen(function* () {
      const inspection = { servers: [], consent: [], parts: [] }
      let requests = 0
      const answer = () => (++requests === 1 ? Effect.succeed({ revision: 1, inspection }) : Effect.never)
      const { one } = yield* twoNodes(answer, { a2c_features: ["inspection"] })
      const stream = yield* openStream(one)
      yield* before
      yield* one.watch.execute({ _tag: "Focus", stream: stream.snapshot.stream, line, office: "O" }, olga)
      yield* find
      assert.deepStrictEqual(stream.tagged("Inspected"), [{ _tag: "Inspected", ...at, inspection }])
    })
  )
})

describe("a command in a cluster", () => {
  effectWith(twoNodes(() => Effect.never, {}, "eu/two"))(
    "cancels a call of a node whose name has a slash",
    function* ({ computer, one, two }) {
      yield* startCall(yield* two.agent())
      const id = partsOf((yield* two.watch.open).snapshot).calls[0]?.id ?? ""
      yield* one.watch.execute({ _tag: "CancelCall", id }, olga)
      yield* elapse()
      assert.include(eventsOf(computer), "notify:tool_call_cancel")
    }
  )

  const commands: ReadonlyArray<PageCommand> = [
    { _tag: "GetTools", ...at },
    { _tag: "GetDesktop", ...at },
    { _tag: "FindDocuments", ...at, keywords: [], offset: 0 },
    { _tag: "GetDocument", ...at, uri: "dpe://files/a.md" },
    { _tag: "SendMcpRequest", ...at, method: "servers/list", params: {} },
    { _tag: "GetApproval", ...at, id: "1" },
    { _tag: "DecideApproval", ...at, id: "1", action: "deny" },
    { _tag: "ExplainCall", ...at, tool: "t", params: {} }
  ]
  it.effect.each(["0.2", "0.4"].flatMap((of) => commands.map((command) => [command._tag, of, command] as const)))(
    "%s asks a Computer of line %s at another node, with a member in its office",
    ([, of, command]) =>
      Effect.gen(function* () {
        const version = `${of}.0`
        const cluster = makeCluster()
        const one = yield* startWatched({ cluster, name: "one" })
        const documents = DocumentReader.of({ read: () => Effect.never })
        const two = yield* startWatched({ cluster, name: "two", documents })
        const auth = { a2c_features: ["inspection", "approvals", "operator_calls", "call_status"] }
        const { received } = yield* two.computer("pc", { version, auth, answer: () => Effect.succeed({}) })
        yield* one.agent("ada", { version })
        yield* resultOf(one.watch.execute({ ...command, line: of } as PageCommand, olga))
        assert.isTrue(received.some(({ event }) => /^(client|a2c):/.test(event)))
      })
  )

  /** Two nodes, and the name of a third one that no message reaches. */
  const unreachableNode = Effect.gen(function* () {
    const nodes = yield* twoNodes()
    yield* Layer.build(Layer.fresh(MemoryOfficeRegistry.layer(nodes.cluster.offices, "deaf")))
    return nodes
  })
  const test = effectWith(unreachableNode)

  test("disconnects a member of another node although a further node cannot be reached", function* ({ computer, one }) {
    yield* one.watch.execute({ _tag: "Disconnect", sid: computer.sid }, olga)
    assert.strictEqual(yield* computer.closed, "disconnected by an operator")
  })

  test("replies 503 for a session that the reachable nodes do not have", function* ({ one }) {
    assert.strictEqual(yield* resultOf(one.watch.execute({ _tag: "Disconnect", sid: "none" }, olga)), 503)
  })
})

describe("a call of an operator in a cluster", () => {
  const test = effectWith(twoNodes())
  const testWithoutReply = effectWith(twoNodes(() => Effect.never))
  const request = { ...at, tool: "fs:list", params: {}, timeout: 60 }

  const call = Effect.fnUntraced(function* (node: Effect.Success<ReturnType<typeof startWatched>>, operator = olga) {
    const stream = yield* node.watch.call(request, operator)
    return yield* Stream.runCollect(stream)
  })

  it.effect("runs beside another call of this operator at another node", () =>
    Effect.gen(function* () {
      const { one } = yield* twoNodes((event) =>
        event === "client:tool_call" ? Effect.never : Effect.succeed(toolResult("done"))
      )
      // The Computer of the first node lets no operator call beside an Agent, and this one is the operator itself.
      yield* one.computer("near", { answer: () => Effect.succeed(toolResult("near")) })
      yield* find
      const waiting = yield* one.watch.call(request, olga)
      yield* Effect.forkScoped(Stream.runDrain(waiting), { startImmediately: true })
      yield* elapse()
      const stream = yield* one.watch.call({ ...request, computer: "near" }, olga)
      const near: ReadonlyArray<PageCallMessage> = yield* Stream.runCollect(stream)
      assert.deepStrictEqual(near, [
        { _tag: "Started", as: "operator", name: "operator:olga" },
        { _tag: "Result", result: toolResult("near") }
      ])
    })
  )

  it.effect("waits longer than a reply of the other node takes", () =>
    Effect.gen(function* () {
      const { one } = yield* twoNodes(() => Effect.delay(Effect.succeed(toolResult("late")), "50 seconds"))
      const calling = yield* Effect.forkChild(Effect.scoped(call(one)), { startImmediately: true })
      for (let seconds = 0; seconds < 60; seconds++) yield* elapse("1 second")
      assert.deepStrictEqual((yield* Fiber.join(calling)).at(-1), { _tag: "Result", result: toolResult("late") })
    })
  )

  test("runs at the node of the Computer from a node with a member of its office", function* ({ one }) {
    yield* one.computer("near")
    const messages: ReadonlyArray<PageCallMessage> = yield* Effect.scoped(call(one))
    assert.deepStrictEqual(messages.at(-1), { _tag: "Result", result: toolResult("done") })
  })

  testWithoutReply("is cancelled at the Computer when it is closed", function* ({ computer, one }) {
    const calling = yield* Effect.forkScoped(Effect.scoped(call(one)), { startImmediately: true })
    yield* elapse()
    calling.interruptUnsafe()
    yield* elapse("1 second")
    assert.include(eventsOf(computer), "notify:tool_call_cancel")
  })

  test("is rejected by the rights of the operator", function* ({ one }) {
    const watcher = operatorOf("wanda", { rights: ["operator"], offices: ["*"], names: ["*"] })
    assert.strictEqual(yield* resultOf(Effect.scoped(call(one, watcher))), 403)
  })

  testWithoutReply("ends with an error when the node of the Computer goes away", function* ({ one, two }) {
    const messages: Array<PageCallMessage> = []
    const stream = yield* one.watch.call(request, olga)
    yield* Effect.forkScoped(
      Stream.runForEach(stream, (message) => Effect.sync(() => void messages.push(message))),
      { startImmediately: true }
    )
    yield* elapse()
    yield* two.close
    yield* elapse("20 seconds")
    const last = messages.at(-1)
    assert.deepInclude(last?._tag === "Failed" ? last.error : undefined, { code: 503 })
    assert.match(last?._tag === "Failed" ? last.error.message : "", /^The node two cannot be reached: /)
  })
})
