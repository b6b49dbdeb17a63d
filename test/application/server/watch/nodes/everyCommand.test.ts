import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeCluster } from "../../../../../src/adapters/memory/MemoryCluster.ts"
import { DocumentReader } from "../../../../../src/application/ports/files/DocumentReader.ts"
import { maxDocumentBytes } from "../../../../../src/application/shared/page/documentPreview.ts"
import type { ApprovalView } from "../../../../../src/domain/approvals/ApprovalView.ts"
import { operatorRequests } from "../../../../../src/domain/page/operatorRequests.ts"
import { allGrants } from "../../../../../src/domain/model/Identity.ts"
import type { PageCommand } from "../../../../../src/domain/page/PageCommand.ts"
import { encodeUtf8 } from "../../../../../src/domain/utf8.ts"
import { lineNamed, lineNames } from "../../../../../src/domain/wire/lines.ts"
import { formatVersion } from "../../../../../src/domain/wire/version.ts"
import { elapse, startWatched, toolCall, toolResult } from "../watchedServer.ts"
import { effectWith } from "../../../../testWith.ts"
import { partsOf } from "../../../../page/scripted/snapshotParts.ts"

/** An operator whose identity has all its parts. */
const olga = {
  identity: { subject: "olga", grants: allGrants, expiresAt: 9_000_000_000_000, isShared: true },
  remoteAddress: "10.0.0.1"
}

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
const common = { uri: "dpe://a/d", title: "D", server: "fs" }
const summary = { ...common, doc_ref: "d", file_uri: "file:///d", file_type: "md", page_count: 1 }
const found = { ...common, docRef: "d", fileUri: "file:///d", fileType: "md", pageCount: 1 }
const explanation = { steps: [{ rule: "r", action: "ask" }], decision: { action: "ask", by: "r" } }
const page = ["approvals", "operator_calls"]
const answer = { action: "allow", content: { name: "Ada" } }
const caller = { agent: "operator:olga", computer: "pc" }

interface Case {
  readonly name: string
  readonly command: object
  /** The features of the Computer. */
  readonly features?: ReadonlyArray<string>
  readonly replies: { readonly [event: string]: object }
  readonly result: unknown
  /** The requests that the Computer receives. */
  readonly requests: ReadonlyArray<readonly [event: string, body: object]>
  readonly reads?: ReadonlyArray<unknown>
  /** What the Server records. */
  readonly recorded?: ReadonlyArray<object>
}

const refused = { code: 404, message: "Computer 'pc' has no such call" }
const mayNotDecide = {
  code: 403,
  message: "Computer 'pc' does not let operators decide about calls (--approvers page)"
}
const decideRecord = { command: "decide_approval", computer: "pc", approval: "a1" }
const documentRequest = {
  requests: [["client:get_dpe", { ...caller, uri: "dpe://a/b.md" }]],
  reads: [["https://docs.example/b", maxDocumentBytes]]
} as const
const cases: ReadonlyArray<Case> = [
  {
    name: "GetTools",
    command: { _tag: "GetTools" },
    replies: { "client:get_tools": { tools: [], starting_servers: ["slow"] } },
    result: { tools: [], startingServers: ["slow"] },
    requests: [["client:get_tools", { ...caller, a2c_features: ["mcp"] }]]
  },
  {
    name: "GetDesktop",
    command: { _tag: "GetDesktop" },
    replies: { "client:get_desktop": { desktops: ["window://a\nOne"] } },
    result: { desktops: ["window://a\nOne"] },
    requests: [["client:get_desktop", caller]]
  },
  {
    name: "FindDocuments",
    command: { _tag: "FindDocuments", keywords: ["tax"], offset: 20 },
    replies: { "client:get_finder": { documents: [summary], total_count: 41 } },
    result: { documents: [found], totalCount: 41 },
    requests: [["client:get_finder", { ...caller, keywords: ["tax"], offset: 20, limit: 20 }]]
  },
  {
    name: "GetDocument",
    command: { _tag: "GetDocument", uri: "dpe://a/b.md" },
    replies: { "client:get_dpe": { uri: "https://docs.example/b", mime_type: "text/markdown" } },
    result: { mimeType: "text/markdown", text: "# A", isTruncated: false },
    ...documentRequest
  },
  {
    name: "GetDocument of the largest size",
    command: { _tag: "GetDocument", uri: "dpe://a/b.md" },
    replies: { "client:get_dpe": { uri: "https://docs.example/b", size: maxDocumentBytes } },
    result: { mimeType: "text/plain", text: "# A", isTruncated: false },
    ...documentRequest
  },
  {
    name: "SendMcpRequest",
    command: { _tag: "SendMcpRequest", server: "fs", method: "prompts/get", params: { name: "p" } },
    replies: { "client:mcp": { result: { messages: [1] } } },
    result: { result: { messages: [1] } },
    requests: [["client:mcp", { ...caller, server: "fs", method: "prompts/get", params: { name: "p" } }]]
  },
  {
    name: "SendMcpRequest for the servers",
    command: { _tag: "SendMcpRequest", method: "servers/list", params: {} },
    replies: { "client:get_tools": { tools: [], a2c_features: ["mcp"] }, "client:mcp": { result: { servers: [1] } } },
    result: { result: { servers: [1] } },
    requests: [
      ["client:get_tools", { ...caller, a2c_features: ["mcp"] }],
      ["client:mcp", { ...caller, method: "servers/list", params: {} }]
    ]
  },
  {
    name: "GetApproval",
    command: { _tag: "GetApproval", id: "a1" },
    features: page,
    replies: { "a2c:get_approval": Object(wireApproval()) },
    result: approval,
    requests: [["a2c:get_approval", { id: "a1" }]]
  },
  {
    name: "GetApproval as a caller",
    command: { _tag: "GetApproval", id: "a1" },
    replies: { "client:get_approvals": { approvals: [wireApproval({ id: "a0" }), wireApproval()] } },
    result: approval,
    requests: [["client:get_approvals", { ...caller, approval_id: "a1" }]]
  },
  {
    name: "GetApproval of another caller",
    command: { _tag: "GetApproval", id: "a1" },
    replies: { "client:get_approvals": { approvals: [wireApproval({ id: "a0" })] } },
    result: mayNotDecide,
    requests: [["client:get_approvals", { ...caller, approval_id: "a1" }]]
  },
  {
    name: "GetApproval as a caller that is refused",
    command: { _tag: "GetApproval", id: "a1" },
    replies: { "client:get_approvals": { code: 403, message: "you may not" } },
    result: mayNotDecide,
    requests: [["client:get_approvals", { ...caller, approval_id: "a1" }]]
  },
  {
    name: "GetApproval as a caller that fails",
    command: { _tag: "GetApproval", id: "a1" },
    replies: { "client:get_approvals": refused },
    result: refused,
    requests: [["client:get_approvals", { ...caller, approval_id: "a1" }]]
  },
  {
    name: "GetApproval that fails",
    command: { _tag: "GetApproval", id: "a1" },
    features: page,
    replies: { "a2c:get_approval": refused },
    result: refused,
    requests: [["a2c:get_approval", { id: "a1" }]]
  },
  {
    name: "DecideApproval",
    command: { _tag: "DecideApproval", id: "a1", action: "allow", scope: "tool", until: 9 },
    features: page,
    replies: { "a2c:decide_approval": Object(wireApproval({ state: "allowed" })) },
    result: { ...approval, state: "allowed" },
    requests: [["a2c:decide_approval", { id: "a1", by: "operator:olga", action: "allow", scope: "tool", until: 9 }]],
    recorded: [{ ...decideRecord, action: "allow", scope: "tool", until: 9, outcome: "ok" }]
  },
  {
    name: "DecideApproval with a reason",
    command: { _tag: "DecideApproval", id: "a1", action: "deny", reason: "no" },
    features: page,
    replies: { "a2c:decide_approval": refused },
    result: refused,
    requests: [["a2c:decide_approval", { id: "a1", by: "operator:olga", action: "deny", reason: "no" }]],
    recorded: [{ ...decideRecord, action: "deny", outcome: "404" }]
  },
  {
    name: "DecideApproval as a caller",
    command: { _tag: "DecideApproval", id: "a1", ...answer },
    replies: { "client:decide_approval": { approval: wireApproval() } },
    result: approval,
    requests: [["client:decide_approval", { ...caller, ...answer, approval_id: "a1", scope: "once" }]],
    recorded: [{ ...decideRecord, action: "allow", outcome: "ok" }]
  },
  {
    name: "ExplainCall",
    command: { _tag: "ExplainCall", tool: "list", params: { a: 1 } },
    features: ["operator_calls"],
    replies: { "a2c:explain_call": { ...explanation, can_ask: true } },
    result: { ...explanation, canAsk: true },
    requests: [["a2c:explain_call", { tool: "list", params: { a: 1 }, subject: "operator:olga" }]]
  },
  {
    name: "ExplainCall of another caller",
    command: { _tag: "ExplainCall", tool: "list", params: {}, subject: "ada" },
    features: ["approvals"],
    replies: { "a2c:explain_call": { ...explanation, can_ask: false } },
    result: { ...explanation, canAsk: false },
    requests: [["a2c:explain_call", { tool: "list", params: {}, subject: "ada" }]]
  },
  {
    name: "ExplainCall that is not permitted",
    command: { _tag: "ExplainCall", tool: "list", params: {} },
    replies: {},
    result: {
      code: 403,
      message: "Computer 'pc' does not explain its decisions to operators (--approvers page, --operators)"
    },
    requests: []
  }
]

type Line = (typeof lineNames)[number]
const places = ["the node", "another node"] as const
const rows = lineNames.flatMap((line) => places.map((place) => [line, place] as const))

/** A Computer at a node, and the node at which the operator is. */
const officeWith = Effect.fnUntraced(function* (
  line: Line,
  place: (typeof places)[number],
  { features = [], replies }: Pick<Case, "features" | "replies">
) {
  const cluster = makeCluster()
  const reads: Array<unknown> = []
  const documents = DocumentReader.of({
    read: (...args) => {
      reads.push(args)
      return Effect.succeed({ bytes: encodeUtf8("# A"), mimeType: "text/plain" })
    }
  })
  const watch = { bodies: {} }
  const two = yield* startWatched({ cluster, name: "two", documents, watch })
  const other = yield* startWatched({ cluster, name: "one", watch })
  const one = place === "the node" ? two : other
  const version = formatVersion(lineNamed(line).version)
  const computer = yield* two.computer("pc", {
    version,
    auth: { a2c_features: features },
    answer: (event, value) =>
      event === "client:tool_call"
        ? Effect.delay(Effect.succeed(toolResult("done")), "1 second")
        : Effect.succeed(
            event.startsWith("a2c:") ? replies[event] : { req_id: Object(value)["req_id"], ...replies[event] }
          )
  })
  yield* elapse("2 seconds")
  return { one, two, other, computer, reads, version }
})

/** Executes a command, and gives its outcome. */
const outcomeOf = ({ one }: Effect.Success<ReturnType<typeof officeWith>>, command: PageCommand) =>
  Effect.match(one.watch.execute(command, olga), {
    onSuccess: (value): unknown => value,
    onFailure: ({ code, message }) => ({ code, message })
  })

describe.each(rows)("a Server on line %s, at %s of the Computer", (line, place) => {
  const at = { line, office: "O", computer: "pc" }
  const operator = { type: "operator", subject: "olga", remote: "10.0.0.1" }
  const test = effectWith(officeWith(line, place, { replies: {} }))

  it.effect.each(cases)("executes $name with all its parts, and gives its reply", (one) =>
    Effect.gen(function* () {
      const office = yield* officeWith(line, place, one)
      const { computer } = office
      const before = computer.received.length
      const result = yield* outcomeOf(office, { ...at, ...one.command } as PageCommand)
      const requests = computer.received.slice(before).map(({ event, value }) => {
        const { req_id: _, ...body } = Object(value)
        return [event, body] as const
      })
      assert.deepStrictEqual(JSON.parse(JSON.stringify(result)), one.result)
      assert.deepStrictEqual<unknown>(requests, one.requests)
      assert.deepStrictEqual(office.reads, one.reads ?? [])
      assert.deepStrictEqual(
        yield* office.two.operatorActions,
        (one.recorded ?? []).map((record) => ({ ...operator, line, office: "O", ...record }))
      )
    })
  )

  test("passes all parts of a call on, its statuses and its result", function* ({ computer, one, other, two }) {
    const messages: Array<unknown> = []
    const request = { ...at, tool: "fs:list", params: { path: "/" }, timeout: 61 }
    const reading = yield* Effect.forkScoped(
      Effect.scoped(
        Effect.flatMap(one.watch.call(request, olga), (stream) =>
          Stream.runForEach(stream, (message) => Effect.sync(() => void messages.push(message)))
        )
      ),
      { startImmediately: true }
    )
    yield* elapse()
    const received = computer.received.find(({ event }) => event === "client:tool_call")
    const { req_id: reqId, ...body } = Object(received?.value)
    const passed = { tool_name: "fs:list", params: { path: "/" }, timeout: 61, input_modes: ["form", "url"] }
    assert.deepStrictEqual(body, { ...caller, ...passed })
    const progress = { computer: "pc", progress: 1, total: 2, message: "half" }
    yield* computer.notify("server:update_tool_call", { req_id: reqId, status: "progress", ...progress })
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(reading)
    assert.deepStrictEqual(messages, [
      { _tag: "Started", as: "agent", name: "operator:olga" },
      { _tag: "Status", status: { _tag: "Progressing", ...progress } },
      { _tag: "Result", result: toolResult("done") }
    ])
    const record = { ...operator, command: "call", ...at, tool: "fs:list", outcome: "ok" }
    assert.deepStrictEqual([yield* two.operatorActions, yield* other.operatorActions], [[record], []])
  })

  test("disconnects a member, which its node records", function* (office) {
    const { sid } = office.computer
    assert.deepStrictEqual(yield* outcomeOf(office, { _tag: "Disconnect", sid }), {})
    assert.strictEqual(yield* office.computer.closed, "disconnected by an operator")
    const target = { sid, line, office: "O", role: "computer", name: "pc" }
    const record = { ...operator, command: "disconnect", ...target, outcome: "ok" }
    assert.deepStrictEqual([yield* office.two.operatorActions, yield* office.other.operatorActions], [[record], []])
  })

  test("drains a node, and no other, which it records", function* (office) {
    assert.deepStrictEqual(yield* outcomeOf(office, { _tag: "Drain", node: "two" }), {})
    const states = [office.two, office.other].map(({ observability }) => observability.report().state)
    assert.deepStrictEqual(states, ["draining", "ready"])
    const record = { ...operator, command: "drain", node: "two", outcome: "ok" }
    assert.deepStrictEqual([yield* office.two.operatorActions, yield* office.other.operatorActions], [[record], []])
  })

  test("cancels a call, which its node records", function* (office) {
    const { computer, two, version } = office
    const agent = yield* two.agent("ada", { version })
    yield* two.watch.open
    yield* Effect.forkScoped(agent.request("client:tool_call", toolCall("ada")), { startImmediately: true })
    yield* elapse()
    const id = partsOf((yield* two.watch.open).snapshot).calls[0]?.id ?? ""
    assert.deepStrictEqual(yield* outcomeOf(office, { _tag: "CancelCall", id }), {})
    yield* elapse()
    const value = { agent: "ada", req_id: "r" }
    assert.deepStrictEqual(computer.received.at(-1), { event: "notify:tool_call_cancel", value })
    assert.isFalse(agent.received.some(({ event }) => event.includes("cancel")))
    const target = { call: id, line, office: "O", agent: "ada", computer: "pc", req_id: "r", tool: "fs:list" }
    const record = { ...operator, command: "cancel_call", ...target, outcome: "ok" }
    assert.deepStrictEqual([yield* two.operatorActions, yield* office.other.operatorActions], [[record], []])
  })

  const noCall = "The call does not run any more"

  it.effect.each([
    [{ _tag: "GetTools", ...at, computer: "gone" }, "Computer 'gone' not found in the office"],
    [{ _tag: "Disconnect", sid: "gone" }, "No connection 'gone'", { command: "disconnect", sid: "gone" }],
    [{ _tag: "Drain", node: "gone" }, /is not the node 'gone'/, { command: "drain", node: "gone" }],
    [{ _tag: "CancelCall", id: "two/99" }, noCall, { command: "cancel_call", call: "two/99" }],
    [{ _tag: "CancelCall", id: "none/1" }, noCall, { command: "cancel_call", call: "none/1" }],
    [{ _tag: "GetCallBody", id: "two/99" }, "The arguments and the result of this call are not captured"],
    [{ _tag: "Focus", stream: "gone", line, office: "O" }, "The stream has ended"]
  ] as ReadonlyArray<readonly [PageCommand, string | RegExp, object?]>)(
    "names what is absent, and records that the command failed: %j",
    ([command, expected, record]) =>
      Effect.gen(function* () {
        const office = yield* officeWith(line, place, { replies: {} })
        const { code, message } = Object(yield* outcomeOf(office, command))
        assert.strictEqual(code, 404)
        if (typeof expected === "string") assert.strictEqual(message, expected)
        else assert.match(message, expected)
        const recorded = [...(yield* office.two.operatorActions), ...(yield* office.other.operatorActions)]
        assert.deepStrictEqual(recorded, record === undefined ? [] : [{ ...operator, ...record, outcome: "404" }])
        const states = [office.two, office.other].map(({ observability }) => observability.report().state)
        assert.deepStrictEqual(states, ["ready", "ready"])
      })
  )

  test("finds the arguments and the result of a call at the node of its Agent", function* ({ one, two, version }) {
    const agent = yield* two.agent("ada", { version })
    yield* Effect.all([one.watch.open, two.watch.open])
    const request = agent.request("client:tool_call", toolCall("ada", { params: { path: "/" } }))
    const calling = yield* Effect.forkScoped(request, { startImmediately: true })
    yield* elapse("2 seconds")
    yield* Fiber.join(calling)
    const id = partsOf((yield* two.watch.open).snapshot).calls[0]?.id ?? ""
    const captured = yield* one.watch.execute({ _tag: "GetCallBody", id }, olga)
    const { params, result } = Object(captured)
    assert.deepStrictEqual([JSON.parse(params), JSON.parse(result)], [{ path: "/" }, toolResult("done")])
  })
})
