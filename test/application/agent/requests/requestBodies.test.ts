import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import type { AgentRequests } from "../../../../src/application/agent/AgentRequests.ts"
import { NotPermitted } from "../../../../src/application/member/OfficeMember.ts"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { RequestTimeout, SendFailed } from "../../../../src/application/ports/Transport.ts"
import { ProtocolError } from "../../../../src/domain/model/ProtocolError.ts"
import { type Answer, noReply, replyWith, requestsAt, type Sent } from "./requestsAt.ts"

const lines = ["0.2", "0.3", "0.4"] as const

type Send = (agent: AgentRequests) => Effect.Effect<unknown, unknown>
type Row = readonly [name: string, send: Send, event: string, body: object, seconds: number]

const tool = { computer: "pc-1", tool: "echo", params: { a: [1] }, timeout: 7 }
const onInput = () => Effect.never
const uri = "dpe://documents/a"
const base = { agent: "agent-1", computer: "pc-1" }
const wireTool = { tool_name: "echo", params: { a: [1] }, timeout: 7 }

/** The requests of all methods, with and without their options. */
const rows: ReadonlyArray<Row> = [
  ["callTool", ({ callTool }) => callTool(tool), "client:tool_call", wireTool, 7],
  [
    "callTool without options",
    ({ callTool }) => callTool({ computer: "pc-1", tool: "echo" }),
    "client:tool_call",
    { tool_name: "echo", params: {}, timeout: 60 },
    60
  ],
  [
    "callTool that answers questions",
    ({ callTool }) => callTool({ ...tool, onInput }),
    "client:tool_call",
    { ...wireTool, input_modes: ["form", "url"] },
    7
  ],
  [
    "callTool that answers some questions",
    ({ callTool }) => callTool({ ...tool, onInput, inputModes: ["url"] }),
    "client:tool_call",
    { ...wireTool, input_modes: ["url"] },
    7
  ],
  ["getTools", ({ getTools }) => getTools("pc-1"), "client:get_tools", { a2c_features: ["mcp"] }, 35],
  ["getToolList", ({ getToolList }) => getToolList("pc-1"), "client:get_tools", { a2c_features: ["mcp"] }, 35],
  ["getConfig", ({ getConfig }) => getConfig("pc-1"), "client:get_config", {}, 35],
  ["getDesktop", ({ getDesktop }) => getDesktop("pc-1"), "client:get_desktop", {}, 35],
  [
    "getDesktop with options",
    ({ getDesktop }) => getDesktop("pc-1", { size: 3, window: "window://a/b" }),
    "client:get_desktop",
    { desktop_size: 3, window: "window://a/b" },
    35
  ],
  ["getDpe", ({ getDpe }) => getDpe("pc-1", uri), "client:get_dpe", { uri }, 70],
  [
    "getDpe with a timeout",
    ({ getDpe }) => getDpe("pc-1", uri, { timeout: 9 }),
    "client:get_dpe",
    { uri, timeout: 9 },
    19
  ],
  [
    "getResources",
    ({ getResources }) => getResources("pc-1", "files"),
    "client:get_resources",
    { mcp_server: "files" },
    35
  ],
  [
    "getResources with a cursor",
    ({ getResources }) => getResources("pc-1", "files", { cursor: "c" }),
    "client:get_resources",
    { mcp_server: "files", cursor: "c" },
    35
  ],
  ["findDocuments", ({ findDocuments }) => findDocuments("pc-1"), "client:get_finder", { offset: 0, limit: 20 }, 35],
  [
    "findDocuments with a query",
    ({ findDocuments }) => findDocuments("pc-1", { keywords: ["k"], fileType: "pdf", offset: 5, limit: 6 }),
    "client:get_finder",
    { keywords: ["k"], file_type: "pdf", offset: 5, limit: 6 },
    35
  ],
  ["getApprovals", ({ getApprovals }) => getApprovals("pc-1"), "client:get_approvals", {}, 35],
  [
    "getApprovals of one id",
    ({ getApprovals }) => getApprovals("pc-1", { approvalId: "a" }),
    "client:get_approvals",
    { approval_id: "a" },
    35
  ],
  ...(
    [
      { action: "deny" },
      { action: "deny", reason: "no" },
      { action: "allow", scope: "once" },
      { action: "allow", scope: "tool", until: 9 },
      { action: "allow", scope: "once", content: { name: "Ada" } }
    ] as const
  ).map(
    (answer): Row => [
      `decideApproval with ${JSON.stringify(answer)}`,
      ({ decideApproval }) => decideApproval("pc-1", "a", answer),
      "client:decide_approval",
      { approval_id: "a", ...answer },
      35
    ]
  ),
  ["skills", ({ skills }) => skills("pc-1"), "client:get_skills", {}, 35],
  ["readSkill", ({ readSkill }) => readSkill("pc-1", "greet"), "client:get_skill", { name: "greet" }, 35],
  [
    "readSkill of a file",
    ({ readSkill }) => readSkill("pc-1", "greet", "a/b.md"),
    "client:get_skill",
    { name: "greet", rel_path: "a/b.md" },
    35
  ],
  [
    "mcpServers",
    ({ mcpServers }) => mcpServers("pc-1"),
    "client:mcp",
    { method: "servers/list", params: {}, timeout: 30 },
    35
  ],
  [
    "mcpRequest",
    ({ mcpRequest }) => mcpRequest("pc-1", { server: "s", method: "prompts/get", params: { name: "p" }, timeout: 8 }),
    "client:mcp",
    { server: "s", method: "prompts/get", params: { name: "p" }, timeout: 8 },
    13
  ],
  [
    "status of a task",
    ({ task }) => task("pc-1", "t").status,
    "client:mcp",
    { method: "tasks/get", params: { id: "t" }, timeout: 30 },
    35
  ],
  [
    "cancel of a task",
    ({ task }) => task("pc-1", "t").cancel,
    "client:mcp",
    { method: "tasks/cancel", params: { id: "t" }, timeout: 30 },
    35
  ]
]

describe.each(lines)("a request of an Agent on line %s", (name) => {
  it.effect.each(rows)("has all parts: %s", ([, send, event, body, seconds]) =>
    Effect.gen(function* () {
      const { agent, sent } = requestsAt(noReply, { line: name })
      yield* Effect.exit(send(agent))
      const seen = sent.map(({ body: { req_id, ...rest }, ...one }) => ({ ...one, hasId: req_id !== "", body: rest }))
      assert.deepStrictEqual(seen, [{ event, seconds, hasId: true, body: { ...base, ...body } }])
    })
  )
})

const passing = [
  ["in their own event", true, "client:mcp"],
  ["as tool calls", false, "client:tool_call"]
] as const

describe.each(lines)("a started call on line %s", (name) => {
  it.effect.each(passing)("is started, found and cancelled %s", ([, passes, event]) =>
    Effect.gen(function* () {
      const reply = passes ? { result: {} } : { content: [], structuredContent: { result: {} } }
      const { agent, sent } = requestsAt(
        replyWith(() => reply),
        { line: name, serverPassesMcp: passes }
      )
      const { cancel, computer, id, status } = yield* agent.startTool({ ...tool, onInput, inputModes: ["url"] })
      for (const request of [status, cancel, agent.task("pc-1", id).status, agent.task("pc-1", id).cancel])
        yield* Effect.exit(request)
      const methods = [
        { method: "tasks/start", params: { id, tool: "echo", params: { a: [1] }, timeout: 7, inputModes: ["url"] } },
        ...["get", "cancel", "get", "cancel"].map((method) => ({ method: `tasks/${method}`, params: { id } }))
      ]
      assert.strictEqual(computer, "pc-1")
      assert.deepStrictEqual(
        sent.map(({ body: { req_id: _, ...body }, ...one }) => ({ ...one, body })),
        methods.map((request) => ({
          event,
          seconds: 35,
          body: passes
            ? { ...base, ...request, timeout: 30 }
            : { ...base, tool_name: "a2c:mcp", params: request, timeout: 30 }
        }))
      )
    })
  )

  it.effect.each(passing)("fails with the error of its Computer %s", ([, passes]) =>
    Effect.gen(function* () {
      const failure = { code: -32_000, message: "no room", data: { at: 1 } }
      const reply = passes ? { failure } : { content: [], isError: true, structuredContent: { failure } }
      const { agent } = requestsAt(
        replyWith(() => reply),
        { line: name, serverPassesMcp: passes }
      )
      const request = { server: "s", method: "prompts/get", params: {} } as const
      const { message, ...error } = Object(yield* Effect.flip(agent.mcpRequest("pc-1", request)))
      assert.deepInclude(error, { _tag: "McpSessionError", reason: "protocol", code: -32_000, data: { at: 1 } })
      assert.strictEqual(message, "no room")
    })
  )
})

describe.each(lines)("a failed request of an Agent on line %s", (name) => {
  const message = 'A member with the role agent may not send "client:get_desktop"'
  const failures: ReadonlyArray<readonly [string, Answer, object]> = [
    ["an empty reply", () => Effect.succeed([]), { _tag: "BadReply", message: "The reply is empty" }],
    [
      "the reply to another request",
      () => Effect.succeed([jsonBody({ req_id: "other", desktops: [] })]),
      { _tag: "BadReply", message: "The reply has another req_id" }
    ],
    ["a lost connection", noReply, { _tag: "Disconnected", message: "Connection closed: test" }],
    [
      "no reply in time",
      () => Effect.fail(new RequestTimeout({ timeout: Duration.seconds(35) })),
      { _tag: "ServerTimeout", message: "No reply within 35 seconds" }
    ],
    [
      "an event that is not permitted",
      () => Effect.fail(new NotPermitted({ event: "client:get_desktop", role: "agent" })),
      { _tag: "ProtocolError", code: 403, message, extra: undefined }
    ],
    [
      "a message that cannot be sent",
      () =>
        Effect.fail(
          new SendFailed({ error: new ProtocolError({ code: 413, message: "too large", extra: { max_bytes: 5 } }) })
        ),
      { _tag: "ProtocolError", code: 413, message: "too large", extra: { max_bytes: 5 } }
    ],
    [
      "an error",
      () => Effect.succeed([jsonBody({ code: 4014, message: "no such server", mcp_server: "x", req_id: "r" })]),
      { _tag: "ProtocolError", code: 4014, message: "no such server", extra: { mcp_server: "x", req_id: "r" } }
    ]
  ]
  it.effect.each(failures)("names its cause: %s", ([, answer, expected]) =>
    Effect.gen(function* () {
      const error = Object(yield* Effect.flip(requestsAt(answer, { line: name }).agent.getDesktop("pc-1")))
      const seen = Object.fromEntries(Object.keys(expected).map((key) => [key, Reflect.get(error, key)]))
      assert.deepStrictEqual(seen, expected)
    })
  )

  it.effect("is not sent with an invalid URI of a document, which the error has", () =>
    Effect.gen(function* () {
      const { agent, sent } = requestsAt(noReply, { line: name })
      const error = yield* Effect.flip(agent.getDpe("pc-1", "http://x"))
      assert.deepInclude(Object(error), { code: 4012, extra: { uri: "http://x" } })
      assert.match(error.message, /^Invalid DPE URI "http:\/\/x": the scheme/)
      assert.deepStrictEqual(sent, [])
    })
  )

  it.effect("is not sent with a value that the protocol does not allow, which the error names", () =>
    Effect.gen(function* () {
      const { agent, sent } = requestsAt(noReply, { line: name })
      const error = yield* Effect.flip(agent.getDesktop("pc-1", { size: 1.5 }))
      assert.deepInclude(Object(error), { _tag: "ProtocolError", code: 400 })
      assert.match(error.message, /size/)
      assert.deepStrictEqual(sent, [])
    })
  )
})

describe.each(lines)("a call that ends before its reply, on line %s", (name) => {
  const cancelOf = (sent: ReadonlyArray<Sent>) => [
    ["server:tool_call_cancel", { agent: "agent-1", req_id: sent[0]?.body["req_id"] }]
  ]

  it.effect("is cancelled at the Computer when it is interrupted", () =>
    Effect.gen(function* () {
      const { agent, notified, sent } = requestsAt(() => Effect.never, { line: name })
      const calling = yield* Effect.forkChild(agent.callTool(tool), { startImmediately: true })
      yield* Fiber.interrupt(calling)
      assert.deepStrictEqual(notified, cancelOf(sent))
    })
  )

  it.effect("is cancelled at the Computer when the Agent has waited long enough", () =>
    Effect.gen(function* () {
      const late = new RequestTimeout({ timeout: Duration.seconds(7) })
      const { agent, notified, sent } = requestsAt(() => Effect.fail(late), { line: name })
      const result = yield* agent.callTool(tool)
      assert.deepStrictEqual([result.isError, result.meta?.["a2c_timeout"]], [true, true])
      assert.deepStrictEqual(notified, cancelOf(sent))
    })
  )
})
