import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Stream } from "effect"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { watchAgent } from "../../../src/application/agent/AgentWatch.ts"
import { TransportClient } from "../../../src/application/ports/Transport.ts"
import { toolCancelled } from "../../../src/domain/tools/errorResults.ts"
import type { PageCallMessage, PageCommand } from "../../../src/domain/page/PageCommand.ts"
import { elapse, line, olga, readStream, startWatched, toolResult } from "../server/watch/watchedServer.ts"

const at = { line, office: "O", computer: "pc" }

const tool = { name: "fs:list", description: "Lists files", inputSchema: { type: "object" } }

const mcpServer = { id: "fs", implementation: {}, tools: [], prompts: [], templates: [], completions: false }

/** The replies of the Computer to what is not a tool call. */
const replyTo = (event: string, value: unknown): unknown => {
  const reqId: unknown = Object(value)["req_id"]
  switch (event) {
    case "client:get_tools":
      return {
        tools: [{ ...tool, params_schema: { type: "object" }, return_schema: null }],
        a2c_features: ["mcp"],
        req_id: reqId
      }
    case "client:mcp":
      return Object(value).method === "servers/list"
        ? { result: { servers: [mcpServer] }, req_id: reqId }
        : { failure: { code: -32602, message: "no such prompt" }, req_id: reqId }
    case "client:get_desktop":
      return { desktops: ["window://a/b\n\ntext"], req_id: reqId }
    default:
      return { code: 404, message: "nothing here" }
  }
}

/** An Agent in an office with a Computer, and an open page. */
const watched = Effect.fnUntraced(function* (answer: Effect.Effect<unknown> = Effect.succeed(toolResult("done"))) {
  const server = yield* startWatched()
  const pc = yield* server.computer("pc", {
    answer: (event, value) => (event === "client:tool_call" ? answer : Effect.sync(() => replyTo(event, value)))
  })
  const context = yield* Agent.layer({ office: "O", name: "ada" }).pipe(
    Layer.provide(Layer.succeed(TransportClient, server.transport)),
    Layer.build
  )
  yield* elapse()
  const { agent, page } = yield* Effect.provide(watchAgent({ office: "O", name: "ada" }), context)
  yield* elapse()
  const stream = yield* page.open
  return {
    server,
    pc,
    agent,
    page,
    base: Context.get(context, Agent),
    stream: { ...stream, ...(yield* readStream(stream)) }
  }
})

type Watched = Effect.Success<ReturnType<typeof watched>>

const outcomes = ({ stream }: Watched) =>
  stream.tagged("Call").map(({ call: { outcome = "running", tool: name } }) => `${name}: ${outcome}`)

const call = { computer: "pc", tool: "fs:list", params: {} }

describe("the page of an Agent", () => {
  it.effect("answers questions of calls that nothing else answers, while it is open", () =>
    Effect.gen(function* () {
      const { agent, pc } = yield* watched()
      const modes = () =>
        pc.received.flatMap(({ event, value }) =>
          event === "client:tool_call" ? [Object(value)["input_modes"] as unknown] : []
        )
      yield* agent.callTool(call)
      yield* agent.callTool({ ...call, onInput: () => Effect.never, inputModes: ["url"] })
      assert.deepStrictEqual(modes(), [["form", "url"], ["url"]])
    })
  )

  it.effect("names its only office", () =>
    Effect.gen(function* () {
      const { page } = yield* watched()
      assert.deepStrictEqual(page.office, { line, office: "O" })
    })
  )

  it.effect("starts with the members", () =>
    Effect.gen(function* () {
      const { stream } = yield* watched()
      const members = stream.snapshot.members.map(({ name, role }) => `${role} ${name}`)
      assert.sameMembers(members, ["agent ada", "computer pc"])
    })
  )

  it.effect("shows members that enter and leave", () =>
    Effect.gen(function* () {
      const { server, stream } = yield* watched()
      const late = yield* server.computer("late")
      yield* elapse()
      yield* late.close
      yield* elapse()
      assert.deepStrictEqual(
        [stream.tagged("Entered").map(({ member }) => member.sid), stream.tagged("Left").map(({ sid }) => sid)],
        [["computer late"], ["computer late"]]
      )
    })
  )

  it.effect("shows that a part of a Computer has changed", () =>
    Effect.gen(function* () {
      const { pc, stream } = yield* watched()
      yield* pc.notify("server:update_desktop", { computer: "pc" })
      yield* elapse()
      assert.deepInclude(stream.tagged("Updated")[0], { computer: "pc", part: "desktop" })
    })
  )

  it.effect.each([
    ["ok", Effect.succeed(toolResult("done"))],
    ["tool_error", Effect.succeed({ ...toolResult("bad"), isError: true })],
    ["cancelled", Effect.succeed(toolCancelled())],
    ["4005", Effect.succeed({ code: 4005, message: "no consent" })]
  ] as const)("shows a call of the Agent that ends with %s", ([outcome, answer]) =>
    Effect.gen(function* () {
      const opened = yield* watched(answer)
      yield* Effect.ignore(opened.agent.callTool(call))
      yield* elapse()
      assert.strictEqual(outcomes(opened).at(-1), `fs:list: ${outcome}`)
    })
  )

  it.effect("shows a call that runs, and its interruption", () =>
    Effect.gen(function* () {
      const opened = yield* watched(Effect.never)
      const fiber = yield* Effect.forkChild(opened.agent.callTool(call), { startImmediately: true })
      yield* elapse()
      yield* Fiber.interrupt(fiber)
      yield* elapse()
      assert.deepStrictEqual(outcomes(opened), ["fs:list: running", "fs:list: cancelled"])
    })
  )

  it.effect("counts the calls of each second", () =>
    Effect.gen(function* () {
      const { agent, stream } = yield* watched()
      yield* agent.callTool(call)
      yield* agent.callTool(call)
      yield* elapse("1100 millis")
      const counts = stream
        .tagged("Activity")
        .flatMap(({ offices }) => offices.map(({ calls, failed }) => [calls, failed]))
      assert.deepStrictEqual(counts, [[2, 0]])
    })
  )

  it.effect("shows ended calls to a page that opens later", () =>
    Effect.gen(function* () {
      const { agent, page } = yield* watched()
      yield* agent.callTool(call)
      const { snapshot } = yield* page.open
      assert.deepStrictEqual(
        snapshot.calls.map(({ outcome }) => outcome),
        ["ok"]
      )
    })
  )

  it.effect("passes the status of a call on to its caller, too", () =>
    Effect.gen(function* () {
      const opened = yield* watched(Effect.never)
      const notified: Array<string> = []
      const onStatus = ({ _tag }: { readonly _tag: string }) => Effect.sync(() => void notified.push(_tag))
      yield* Effect.forkChild(opened.agent.callTool({ ...call, onStatus }), { startImmediately: true })
      yield* elapse()
      const received = opened.pc.received.find(({ event }) => event === "client:tool_call")
      const reqId: unknown = Object(received?.value)["req_id"]
      yield* opened.pc.notify("server:update_tool_call", {
        computer: "pc",
        req_id: reqId,
        status: "waiting_for_consent"
      })
      yield* elapse()
      assert.deepStrictEqual(notified, ["WaitingForConsent"])
      assert.strictEqual(opened.stream.tagged("Call").at(-1)?.call.status?._tag, "WaitingForConsent")
    })
  )

  it.effect("opens 16 times at most", () =>
    Effect.gen(function* () {
      const { page } = yield* watched()
      yield* Effect.repeat(page.open, { times: 14 })
      const code = yield* Effect.match(page.open, { onSuccess: () => 0, onFailure: (error) => error.code })
      assert.strictEqual(code, 429)
    })
  )
})

describe("a command of the page of an Agent", () => {
  const run = Effect.fnUntraced(function* (command: PageCommand) {
    const { page } = yield* watched()
    return yield* Effect.match(page.execute(command, olga), {
      onSuccess: (reply): unknown => reply,
      onFailure: ({ code }) => code
    })
  })

  it.effect("fetches tools", () =>
    Effect.gen(function* () {
      const reply = Object(yield* run({ _tag: "GetTools", ...at }))
      assert.deepStrictEqual([reply.tools[0].name, reply.startingServers], ["fs:list", []])
    })
  )

  it.effect("fetches a desktop", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run({ _tag: "GetDesktop", ...at }), { windows: ["window://a/b\n\ntext"] })
    })
  )

  it.effect("lists the MCP servers of a Computer, and passes on their errors", () =>
    Effect.gen(function* () {
      const request = { _tag: "SendMcpRequest", ...at, params: {} } as const
      assert.deepStrictEqual(yield* run({ ...request, method: "servers/list" }), { result: { servers: [mcpServer] } })
      assert.strictEqual(yield* run({ ...request, server: "fs", method: "prompts/get" }), 400)
    })
  )

  it.effect("passes the error of a Computer on", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run({ _tag: "FindDocuments", ...at, keywords: [], offset: 0 }), 404)
    })
  )

  it.effect.each([
    ["disconnects no member", { _tag: "Disconnect", sid: "x" }, 403],
    ["drains no Server", { _tag: "Drain", node: "x" }, 403],
    ["finds no call that has ended", { _tag: "CancelCall", id: "99" }, 404],
    ["has no arguments and results", { _tag: "GetCallBody", id: "1" }, 404],
    ["fetches no document without a reader", { _tag: "GetDocument", ...at, uri: "dpe://a/b" }, 503]
  ] as ReadonlyArray<readonly [string, PageCommand, number]>)("%s", ([, command, code]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run(command), code)
    })
  )

  it.effect("cancels a call at the Computer", () =>
    Effect.gen(function* () {
      const opened = yield* watched(Effect.never)
      yield* Effect.forkChild(Effect.exit(opened.agent.callTool(call)), { startImmediately: true })
      yield* elapse()
      const id = opened.stream.tagged("Call")[0]?.call.id ?? ""
      yield* opened.page.execute({ _tag: "CancelCall", id }, olga)
      yield* elapse()
      assert.include(
        opened.pc.received.map(({ event }) => event),
        "notify:tool_call_cancel"
      )
      assert.strictEqual(outcomes(opened).at(-1), "fs:list: cancelled")
    })
  )
})

describe("a call from the page of an Agent", () => {
  const request = { ...at, tool: "fs:list", params: {}, timeout: 60 }

  const read = Effect.fnUntraced(function* ({ page }: Watched) {
    return yield* Stream.runCollect(yield* page.call(request, olga))
  })

  it.effect("is a call of the Agent", () =>
    Effect.gen(function* () {
      const opened = yield* watched()
      const messages: ReadonlyArray<PageCallMessage> = yield* Effect.scoped(read(opened))
      assert.deepStrictEqual(messages, [
        { _tag: "Started", as: "agent", name: "ada" },
        { _tag: "Result", result: toolResult("done") }
      ])
    })
  )

  it.effect("ends with the error of the Computer", () =>
    Effect.gen(function* () {
      const messages = yield* Effect.scoped(read(yield* watched(Effect.succeed({ code: 4005, message: "no consent" }))))
      assert.deepStrictEqual(messages.at(-1), { _tag: "Failed", error: { code: 4005, message: "no consent" } })
    })
  )
})
