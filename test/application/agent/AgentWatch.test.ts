import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { watchAgent } from "../../../src/application/agent/AgentWatch.ts"
import { DocumentReader } from "../../../src/application/ports/files/DocumentReader.ts"
import { TransportClient } from "../../../src/application/ports/Transport.ts"
import { maxCallsPerBatch } from "../../../src/application/shared/page/StreamBuffer.ts"
import { maxDocumentBytes } from "../../../src/application/shared/page/documentPreview.ts"
import type { ApprovalView } from "../../../src/domain/approvals/ApprovalView.ts"
import { operatorRequests } from "../../../src/domain/page/operatorRequests.ts"
import type { CallStatus } from "../../../src/domain/model/CallStatus.ts"
import { toolCancelled } from "../../../src/domain/tools/errorResults.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import type { PageCommand } from "../../../src/domain/page/PageCommand.ts"
import { elapse, line, olga, readStream, startWatched, toolResult } from "../server/watch/watchedServer.ts"
import { partsOf } from "../../page/scripted/snapshotParts.ts"

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
        a2c_features: ["mcp", "approvals"],
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

/** An Agent of the office of a Server, and its page. */
const watchedAgent = Effect.fnUntraced(function* (server: Effect.Success<ReturnType<typeof startWatched>>) {
  const context = yield* Agent.layer({ office: "O", name: "ada" }).pipe(
    Layer.provide(Layer.succeed(TransportClient, server.transport)),
    Layer.build
  )
  yield* elapse()
  return yield* Effect.provide(watchAgent({ office: "O", name: "ada" }), context)
})

/** An Agent in an office with a Computer, and an open page; what else the Computer replies once the page is open. */
const watched = Effect.fnUntraced(function* (
  answer: Effect.Effect<unknown> = Effect.succeed(toolResult("done")),
  reply?: () => object
) {
  const server = yield* startWatched()
  let isOpen = false
  const pc = yield* server.computer("pc", {
    answer: (event, value) =>
      event === "client:tool_call"
        ? answer
        : Effect.sync(() =>
            isOpen && reply !== undefined ? { req_id: Object(value)["req_id"], ...reply() } : replyTo(event, value)
          )
  })
  const { agent, page } = yield* watchedAgent(server)
  yield* elapse()
  const stream = yield* page.open
  isOpen = true
  return { server, pc, agent, page, stream: { ...stream, ...(yield* readStream(stream)) } }
})

type Watched = Effect.Success<ReturnType<typeof watched>>

const outcomes = ({ stream }: Watched) =>
  stream.tagged("Call").map(({ call: { outcome = "running", tool: name } }) => `${name}: ${outcome}`)

const call = { computer: "pc", tool: "fs:list", params: {} }

describe("the page of an Agent", () => {
  it.effect("answers questions of calls that nothing else answers, until it is closed", () =>
    Effect.gen(function* () {
      const server = yield* startWatched()
      const pc = yield* server.computer("pc", { answer: () => Effect.succeed(toolResult("done")) })
      const { agent, page } = yield* watchedAgent(server)
      const calls = Effect.andThen(
        agent.callTool(call),
        agent.callTool({ ...call, onInput: () => Effect.never, inputModes: ["url"] })
      )
      yield* Effect.scoped(Effect.andThen(page.open, calls))
      yield* agent.callTool(call)
      const modes = pc.received.flatMap(({ event, value }) =>
        event === "client:tool_call" ? [Object(value)["input_modes"] as unknown] : []
      )
      assert.deepStrictEqual(modes, [["form", "url"], ["url"], undefined])
    })
  )

  it.effect("names its only office", () =>
    Effect.gen(function* () {
      const { page } = yield* watched()
      assert.deepStrictEqual(page.office, { line, office: "O" })
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
  it.effect("fetches no document without a reader", () =>
    Effect.gen(function* () {
      const { page } = yield* watched()
      const error = yield* Effect.flip(page.execute({ _tag: "GetDocument", ...at, uri: "dpe://a/b" }, olga))
      assert.strictEqual(error.code, 503)
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
  it.effect("has all its parts at the Computer, and all statuses in its messages", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const opened = yield* watched(Effect.as(Deferred.await(gate), toolResult("done")))
      const request = { ...at, tool: "fs:list", params: { path: "/" }, timeout: 61 }
      const messages: Array<unknown> = []
      const reading = yield* Effect.forkChild(
        Effect.scoped(
          Effect.flatMap(opened.page.call(request, olga), (read) =>
            Stream.runForEach(read, (message) => Effect.sync(() => void messages.push(message)))
          )
        ),
        { startImmediately: true }
      )
      yield* elapse()
      const received = Object(opened.pc.received.find(({ event }) => event === "client:tool_call")?.value)
      const { req_id: reqId, ...body } = received
      assert.deepStrictEqual(body, {
        agent: "ada",
        computer: "pc",
        tool_name: "fs:list",
        params: { path: "/" },
        timeout: 61,
        input_modes: ["form", "url"]
      })
      const approval = { approval_id: "a1", mcp_server: "fs", tool_name: "list", wait_seconds: 9 }
      const report = { computer: "pc", req_id: reqId, status: "waiting_for_consent", ...approval }
      yield* opened.pc.notify("server:update_tool_call", report)
      yield* elapse()
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(reading)
      const awaited = { id: "a1", server: "fs", tool: "list", waitSeconds: 9 }
      assert.deepStrictEqual(messages, [
        { _tag: "Started", as: "agent", name: "ada" },
        { _tag: "Status", status: { _tag: "WaitingForConsent", computer: "pc", approval: awaited } },
        { _tag: "Result", result: toolResult("done") }
      ])
    })
  )

  it.effect("ends with the error of the Computer", () =>
    Effect.gen(function* () {
      const { page } = yield* watched(Effect.succeed({ code: 4005, message: "no consent" }))
      const request = { ...at, tool: "fs:list", params: {}, timeout: 60 }
      const messages = yield* Effect.scoped(Effect.flatMap(page.call(request, olga), Stream.runCollect))
      assert.deepStrictEqual(messages.at(-1), { _tag: "Failed", error: { code: 4005, message: "no consent" } })
    })
  )
})

describe("a command of the page of an Agent as a whole", () => {
  const approval = {
    id: "a1",
    computer: "pc",
    server: "fs",
    tool: "list",
    requester: "ada",
    arguments: "{}",
    argumentsDigest: "d",
    askedBy: "rule",
    requestedAt: 1,
    expiresIn: 2,
    state: "open"
  } as const
  const wireApproval = (fields: Partial<ApprovalView> = {}) =>
    operatorRequests.getApproval.reply.encode({ ...approval, ...fields })
  const summary = { doc_ref: "d", uri: "dpe://a/d", file_uri: "file:///d", file_type: "md", title: "D", page_count: 1 }
  const document = {
    docRef: "d",
    uri: "dpe://a/d",
    fileUri: "file:///d",
    fileType: "md",
    title: "D",
    pageCount: 1,
    server: "fs"
  }
  const bytes = encodeUtf8("# A")

  /** Executes a command; the requests that its Computer receives, and what the reader of documents reads. */
  const sent = Effect.fnUntraced(function* (command: PageCommand, reply: object) {
    const reads: Array<unknown> = []
    const read: DocumentReader["Service"]["read"] = (...args) => {
      reads.push(args)
      return Effect.succeed({ bytes, mimeType: undefined })
    }
    const { page, pc } = yield* Effect.provideService(
      watched(undefined, () => reply),
      DocumentReader,
      DocumentReader.of({ read })
    )
    const before = pc.received.length
    const result = yield* Effect.match(page.execute(command, olga), {
      onSuccess: (value): unknown => value,
      onFailure: ({ code, message }) => ({ code, message })
    })
    const requests = pc.received.slice(before).map(({ event, value }) => {
      const { agent, computer, req_id: _, ...rest } = Object(value)
      assert.deepStrictEqual([agent, computer], ["ada", "pc"])
      return [event, rest]
    })
    return { result: JSON.parse(JSON.stringify(result)) as unknown, requests, reads }
  })
  const getApproval = { _tag: "GetApproval", ...at, id: "a1" } as const
  const decide = { _tag: "DecideApproval", ...at, id: "a1" } as const
  const mcp = { _tag: "SendMcpRequest", ...at, server: "fs", method: "prompts/get", params: { name: "p" } } as const
  const asked = (wire: object, reads: ReadonlyArray<unknown> = []) => ({ requests: [wire], reads })

  it.effect.each([
    [
      { _tag: "GetTools", ...at },
      { tools: [{ ...tool, params_schema: tool.inputSchema, return_schema: null }] },
      {
        tools: [{ name: "fs:list", description: tool.description, paramsSchema: tool.inputSchema, returnSchema: null }],
        startingServers: [],
        restartingServers: [],
        failingServers: []
      },
      asked(["client:get_tools", { a2c_features: ["mcp"] }])
    ],
    [
      { _tag: "GetDesktop", ...at },
      { desktops: ["window://a/b\n\ntext"] },
      { desktops: ["window://a/b\n\ntext"] },
      asked(["client:get_desktop", {}])
    ],
    [
      { _tag: "SendMcpRequest", ...at, params: {}, method: "servers/list" },
      { result: { servers: [mcpServer] } },
      { result: { servers: [mcpServer] } },
      asked(["client:mcp", { method: "servers/list", params: {}, timeout: 30 }])
    ],
    [
      { _tag: "FindDocuments", ...at, keywords: [], offset: 0 },
      { code: 404, message: "nothing here" },
      { code: 404, message: "nothing here" },
      asked(["client:get_finder", { keywords: [], offset: 0, limit: 20 }])
    ],
    [
      { _tag: "FindDocuments", ...at, keywords: ["tax"], offset: 40 },
      { documents: [{ ...summary, server: "fs" }], total_count: 41 },
      { documents: [document], totalCount: 41 },
      asked(["client:get_finder", { keywords: ["tax"], offset: 40, limit: 20 }])
    ],
    [
      { _tag: "GetDocument", ...at, uri: "dpe://a/b.md" },
      { uri: "https://docs.example/b", mime_type: "text/markdown" },
      { mimeType: "text/markdown", text: "# A", isTruncated: false },
      asked(["client:get_dpe", { uri: "dpe://a/b.md" }], [["https://docs.example/b", maxDocumentBytes]])
    ],
    [
      { _tag: "GetDocument", ...at, uri: "dpe://a/b.md" },
      { uri: "https://docs.example/b", size: maxDocumentBytes + 1 },
      {
        code: 503,
        message: `dpe://a/b.md has ${maxDocumentBytes + 1} bytes, more than the ${maxDocumentBytes} allowed`
      },
      asked(["client:get_dpe", { uri: "dpe://a/b.md" }])
    ],
    [
      mcp,
      { result: { messages: [1] } },
      { result: { messages: [1] } },
      asked(["client:mcp", { server: "fs", method: "prompts/get", params: { name: "p" }, timeout: 30 }])
    ],
    [
      { ...mcp, method: "completion/complete" },
      { failure: { code: -32602, message: "no such prompt" } },
      { code: 400, message: "no such prompt" },
      asked(["client:mcp", { server: "fs", method: "completion/complete", params: { name: "p" }, timeout: 30 }])
    ],
    [
      getApproval,
      { approvals: [wireApproval({ id: "a0" }), wireApproval()] },
      approval,
      asked(["client:get_approvals", { approval_id: "a1" }])
    ],
    [
      getApproval,
      { approvals: [wireApproval({ id: "a0" })] },
      { code: 404, message: "The approval is not open any more" },
      asked(["client:get_approvals", { approval_id: "a1" }])
    ],
    [
      { ...decide, action: "deny", reason: "no" },
      { approval: wireApproval({ state: "denied" }) },
      { ...approval, state: "denied" },
      asked(["client:decide_approval", { approval_id: "a1", action: "deny", reason: "no" }])
    ],
    [
      { ...decide, action: "allow", scope: "tool", until: 9 },
      { code: 409, message: "decided" },
      { code: 409, message: "decided" },
      asked(["client:decide_approval", { approval_id: "a1", action: "allow", scope: "tool", until: 9 }])
    ],
    [
      { ...decide, action: "allow", content: { name: "Ada" } },
      { approval: wireApproval() },
      approval,
      asked(["client:decide_approval", { approval_id: "a1", action: "allow", scope: "once", content: { name: "Ada" } }])
    ]
  ] as ReadonlyArray<readonly [PageCommand, object, unknown, ReturnType<typeof asked>]>)(
    "has all its parts, and the reply: %j",
    ([command, reply, result, wire]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual<unknown>(yield* sent(command, reply), { result, ...wire })
      })
  )

  const onlyOperators = "This page belongs to an Agent: only operators of the Server may do this"
  it.effect.each([
    [{ _tag: "Disconnect", sid: "x" }, 403, onlyOperators],
    [{ _tag: "Drain", node: "x" }, 403, onlyOperators],
    [{ _tag: "CancelCall", id: "99" }, 404, "The call does not run any more"],
    [{ _tag: "GetCallBody", id: "1" }, 404, "An Agent does not capture arguments and results"],
    [
      { _tag: "ExplainCall", ...at, tool: "t", params: {} },
      403,
      "Only operators of the Server learn how a Computer decides about calls"
    ]
  ] as ReadonlyArray<readonly [PageCommand, number, string]>)(
    "says why it is rejected: %j",
    ([command, code, message]) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* sent(command, {}), { result: { code, message }, requests: [], reads: [] })
      })
  )
})

describe("what the page of an Agent shows", () => {
  const origin = { line, office: "O" }

  /** Starts a call, and reports its statuses to the Agent. */
  const reporting = Effect.fnUntraced(function* (
    opened: Watched,
    more: Partial<Parameters<Watched["agent"]["callTool"]>[0]> = {}
  ) {
    const fiber = yield* Effect.forkChild(opened.agent.callTool({ ...call, ...more }), { startImmediately: true })
    yield* elapse()
    const received = opened.pc.received.findLast(({ event }) => event === "client:tool_call")
    const reqId: unknown = Object(received?.value)["req_id"]
    const report = (status: object) =>
      Effect.andThen(
        opened.pc.notify("server:update_tool_call", { computer: "pc", req_id: reqId, ...status }),
        elapse()
      )
    return { fiber, report, shown: () => opened.stream.tagged("Call").at(-1)?.call }
  })

  it.effect("has the whole call, from its start to its end", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const opened = yield* watched(Effect.as(Deferred.await(gate), toolResult("done")))
      const { fiber, report, shown } = yield* reporting(opened)
      const first = { ...origin, id: "1", node: "", agent: "ada", subject: "", computer: "pc", reqId: "" }
      const started = { ...first, event: "client:tool_call", tool: "fs:list", startedAt: 200 }
      assert.deepStrictEqual(shown(), started)
      yield* report({ status: "decided", allowed: true, decided_by: "olga" })
      const decision = { _tag: "Decided", computer: "pc", isAllowed: true, by: "olga" } as const
      assert.deepStrictEqual(shown(), { ...started, status: decision, decision })
      yield* report({ status: "decided", allowed: true, decided_by: "bert", question: true })
      const answered = { ...decision, by: "bert", isQuestion: true } as const
      assert.deepStrictEqual(shown(), { ...started, status: answered, decision })
      yield* report({ status: "progress", progress: 1 })
      const status = { _tag: "Progressing", computer: "pc", progress: 1 } as const
      assert.deepStrictEqual(shown(), { ...started, status, decision })
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(fiber)
      yield* elapse()
      assert.deepStrictEqual(shown(), { ...started, status, decision, endedAt: 600, outcome: "ok" })
      assert.deepStrictEqual(partsOf((yield* opened.page.open).snapshot).calls, [
        { ...started, status, decision, endedAt: 600, outcome: "ok" }
      ])
    })
  )

  it.effect("has the status of a call, which its caller also receives", () =>
    Effect.gen(function* () {
      const opened = yield* watched(Effect.never)
      const notified: Array<string> = []
      const onStatus = ({ _tag }: CallStatus) => Effect.sync(() => void notified.push(_tag))
      const { report, shown } = yield* reporting(opened, { onStatus })
      yield* report({ status: "waiting_for_consent" })
      assert.deepStrictEqual([notified, shown()?.status?._tag], [["WaitingForConsent"], "WaitingForConsent"])
    })
  )

  it.effect("has a running call, also for a page that opens later, and its interruption", () =>
    Effect.gen(function* () {
      const opened = yield* watched(Effect.never)
      const { fiber } = yield* reporting(opened)
      const ids = Effect.map(opened.page.open, ({ snapshot }) =>
        partsOf(snapshot).calls.map(({ id, outcome }) => [id, outcome])
      )
      assert.deepStrictEqual(yield* ids, [["1", undefined]])
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* ids, [["1", "cancelled"]])
      yield* elapse()
      assert.deepStrictEqual(outcomes(opened), ["fs:list: running", "fs:list: cancelled"])
      const late = yield* Effect.flip(opened.page.execute({ _tag: "CancelCall", id: "1" }, olga))
      assert.strictEqual(late.code, 404)
    })
  )

  it.effect("has the end of each call of its snapshot, also beside many others", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let count = 0
      const answer = Effect.suspend(() =>
        ++count === 1 ? Effect.as(Deferred.await(gate), toolResult("done")) : Effect.never
      )
      const opened = yield* watched(answer)
      yield* reporting(opened)
      const late = yield* opened.page.open
      const { tagged } = yield* readStream(late)
      for (let other = 0; other < maxCallsPerBatch; other++) {
        yield* Effect.forkChild(opened.agent.callTool(call), { startImmediately: true })
      }
      yield* Deferred.succeed(gate, undefined)
      yield* elapse()
      const ended = tagged("Call").filter(({ call: { outcome } }) => outcome !== undefined)
      assert.deepStrictEqual(
        ended.map(({ call: { id, outcome } }) => [id, outcome]),
        [["1", "ok"]]
      )
    })
  )

  it.effect("keeps the time at which a member joined", () =>
    Effect.gen(function* () {
      const opened = yield* watched()
      yield* elapse("1 second")
      yield* opened.pc.notify("server:update_tool_list", { computer: "pc" })
      yield* opened.server.computer("late")
      yield* elapse("1 second")
      const { members } = partsOf((yield* opened.page.open).snapshot)
      assert.sameDeepMembers(
        members.map(({ joinedAt, name }) => [name, joinedAt]),
        [
          ["ada", 100],
          ["pc", 100],
          ["late", 1200]
        ]
      )
    })
  )

  it.effect("counts failed calls, and starts at zero each second", () =>
    Effect.gen(function* () {
      const { agent, stream } = yield* watched(Effect.succeed({ ...toolResult("bad"), isError: true }))
      yield* agent.callTool(call)
      yield* elapse("1 second")
      yield* agent.callTool(call)
      yield* elapse("1 second")
      yield* elapse("1 second")
      const shown = stream.tagged("Activity").flatMap(({ offices }) => offices)
      const one = { ...origin, node: "", calls: 1, failed: 1 }
      assert.deepStrictEqual(shown, [one, one])
    })
  )

  it.effect("counts as failed what ends without a reply, and not what is cancelled or not approved", () =>
    Effect.gen(function* () {
      const replies: Array<Effect.Effect<unknown>> = [
        Effect.succeed(toolResult("done")),
        Effect.succeed({ code: 4005, message: "no consent" }),
        Effect.never,
        Effect.never
      ]
      const { agent, stream } = yield* watched(Effect.suspend(() => replies.shift() ?? Effect.never))
      yield* agent.callTool(call)
      yield* Effect.flip(agent.callTool(call))
      const cancelled = yield* Effect.forkChild(agent.callTool(call), { startImmediately: true })
      yield* Effect.forkChild(agent.callTool({ ...call, timeout: 1 }), { startImmediately: true })
      yield* Fiber.interrupt(cancelled)
      yield* elapse("1 second")
      yield* elapse("1 second")
      const offices = stream.tagged("Activity").flatMap(({ offices: shown }) => shown)
      const sum = (key: "calls" | "failed") => offices.reduce((total, { [key]: count }) => total + count, 0)
      assert.deepStrictEqual([sum("calls"), sum("failed")], [4, 1])
    })
  )

  it.effect("has all of members, their ends and changes", () =>
    Effect.gen(function* () {
      const { pc, server, stream } = yield* watched()
      const late = yield* server.computer("late")
      yield* elapse()
      for (const part of ["config", "desktop"]) {
        yield* pc.notify(`server:update_${part}`, { computer: "pc" })
        yield* elapse()
      }
      yield* late.close
      yield* elapse()
      const features = { inspection: false, operatorCalls: false, approvals: true }
      const fields = { ...origin, node: "", subject: "", version: "", features }
      const member = { ...fields, role: "computer", name: "late", sid: "computer late", joinedAt: 200 }
      const shown = [
        { _tag: "Entered", member },
        { _tag: "Updated", ...origin, computer: "pc", part: "config", at: 300 },
        { _tag: "Updated", ...origin, computer: "pc", part: "desktop", at: 400 },
        { _tag: "Left", sid: "computer late", at: 500 }
      ]
      assert.deepStrictEqual<unknown>(
        [...stream.tagged("Entered"), ...stream.tagged("Updated"), ...stream.tagged("Left")],
        shown
      )
      assert.sameDeepMembers(
        partsOf(stream.snapshot).members.map(({ joinedAt, name, role }) => ({ joinedAt, name, role })),
        [
          { role: "agent", name: "ada", joinedAt: 100 },
          { role: "computer", name: "pc", joinedAt: 100 }
        ]
      )
    })
  )
})
