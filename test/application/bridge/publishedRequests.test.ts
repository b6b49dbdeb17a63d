import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Logger, Stream, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import { Agent, type AgentShape } from "../../../src/application/agent/Agent.ts"
import { Disconnected } from "../../../src/application/agent/AgentErrors.ts"
import { type ComputerView, type OfficeView, unknownComputer } from "../../../src/application/agent/OfficeView.ts"
import { TaskLost, type ToolTask } from "../../../src/application/agent/tasks/toolTasks.ts"
import { makeOfficeMcpSession } from "../../../src/application/bridge/OfficeMcpSession.ts"
import type { OfficeMcpSessionOptions } from "../../../src/application/bridge/officeModelSession.ts"
import type { CallHooks } from "../../../src/application/bridge/callHooks.ts"
import type { MemberStatus } from "../../../src/application/member/OfficeMember.ts"
import {
  type InputResponder,
  type McpCallOptions,
  type McpProgress,
  type McpSession,
  McpSessionError
} from "../../../src/application/ports/McpSession.ts"
import { Unreachable } from "../../../src/application/ports/Transport.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import { settle } from "../../settle.ts"
import { firstText } from "../../firstText.ts"

const echo = { name: "echo", description: "Echoes", paramsSchema: { type: "object" }, returnSchema: null }
const server = {
  id: "alpha",
  implementation: {},
  tools: [],
  prompts: [{ name: "greet" }],
  templates: [{ uriTemplate: "note://{id}", name: "note" }],
  completions: true
}
const desk: ComputerView = {
  ...unknownComputer,
  tools: [echo],
  servers: [server],
  desktop: ["window://app/notes\n\nhello"],
  documents: undefined,
  skills: undefined
}
const officeWith = (computers: OfficeView["computers"]): OfficeView => ({
  members: [...computers.keys()].map((name) => ({ name, role: "computer" })),
  computers
})
const full = officeWith(
  new Map([
    ["attic", desk],
    ["desk", desk]
  ])
)

const skill = {
  name: "greet",
  source: "user",
  path: "/s",
  description: "Greets",
  license: "MIT",
  version: "1.0",
  compatibility: "any"
}
const summary = {
  docRef: "d",
  uri: "dpe://docs/d",
  fileUri: "file:///d",
  fileType: "md",
  title: "D",
  pageCount: 3,
  server: "alpha",
  summary: "All of it"
}
const done = { content: [{ type: "text", text: "done" } as const], isError: false }

type Received = Array<readonly [method: string, ...args: ReadonlyArray<unknown>]>

/** The session of an office whose Agent records what is asked of it, and answers, or fails with this error. */
const published = Effect.fnUntraced(function* (
  options: Partial<OfficeMcpSessionOptions> = {},
  failure?: Effect.Error<ReturnType<AgentShape["getConfig"]>>,
  parts: Partial<AgentShape> = {}
) {
  const received: Received = []
  const hooks: Array<CallHooks> = []
  const view = yield* SubscriptionRef.make(full)
  const status = yield* SubscriptionRef.make<MemberStatus>({ _tag: "Joined" })
  /** Open while no refresh of the view runs. */
  const settled = yield* Latch.make(true)
  const answer =
    <A>(method: string, value: A) =>
    (...args: ReadonlyArray<unknown>) =>
      Effect.suspend(() => {
        received.push([method, ...args])
        return failure === undefined ? Effect.succeed(value) : Effect.fail(failure)
      })
  /** Keeps the functions of a call apart, which cannot be compared. */
  const withHooks =
    <A>(method: string, value: A) =>
    ({ inputModes, onApproval, onInput, onStatus, ...call }: CallHooks) => {
      hooks.push({ inputModes, onApproval, onInput, onStatus })
      return answer(method, value)(call)
    }
  const taskOf = (computer: string, id: string): ToolTask => ({
    id,
    computer,
    endsWithAgent: false,
    status: answer("status", { tool: "echo", state: "working", createdAt: 7, updatedAt: 8 } as const)(computer, id),
    result: answer("result", done)(computer, id),
    cancel: answer("cancel", undefined)(computer, id)
  })
  const agent: Partial<{ readonly [Name in keyof AgentShape]: unknown }> = {
    view: SubscriptionRef.get(view),
    changes: SubscriptionRef.changes(view),
    status: SubscriptionRef.changes(status),
    settled: settled.await,
    followServers: Effect.void,
    callTool: withHooks("callTool", done),
    startTool: ({ computer, ...call }: CallHooks & { readonly computer: string }) =>
      withHooks("startTool", taskOf(computer, "t"))({ computer, ...call } as CallHooks),
    task: (computer: string, id: string, { inputModes, onApproval, onInput, onStatus }: CallHooks) => {
      hooks.push({ inputModes, onApproval, onInput, onStatus })
      return taskOf(computer, id)
    },
    mcpRequest: answer("mcpRequest", { contents: [{ uri: "note://1", text: "one" }], messages: [1] }),
    getDesktop: answer("getDesktop", ["window://app/notes\n\nhello"]),
    fetchDocument: answer("fetchDocument", { uri: "x", mimeType: "text/plain", bytes: encodeUtf8("text") }),
    readSkill: answer("readSkill", { name: "greet", mimeType: "text/markdown", bytes: encodeUtf8("# Hi") }),
    findDocuments: (computer: string, query: { readonly offset: number }) =>
      answer("findDocuments", { documents: query.offset > 1 ? [] : [summary], totalCount: 3 })(computer, query),
    skills: answer("skills", [skill]),
    ...parts
  }
  const session = yield* Effect.provideService(
    makeOfficeMcpSession({ office: "O1", ...options }),
    Agent,
    agent as AgentShape
  )
  return { session, received, hooks, view, status, settled }
})

/** The changes that the session announces to a host that watches these, by their URIs or else their tags. */
const watched = Effect.fnUntraced(function* (session: McpSession, interest: Parameters<McpSession["watch"]>[0]) {
  const changes: Array<string> = []
  yield* Effect.forkScoped(
    Stream.runForEach(yield* session.watch(interest), (one) =>
      Effect.sync(() => void changes.push("uri" in one ? one.uri : one._tag))
    ),
    { startImmediately: true }
  )
  return changes
})

const withoutTasks = Effect.die("no tasks")
const request = ({ request: send }: McpSession, ...args: Parameters<NonNullable<McpSession["request"]>>) =>
  send?.(...args) ?? Effect.die("no requests")

type Send = (session: McpSession) => Effect.Effect<unknown, McpSessionError>
type Row = readonly [name: string, send: Send, received: Received, result: unknown]

const text = (line: string) => ({ type: "text", text: line })
const argument = { name: "id", value: "1" }
const mcp = (method: string, params: object) => ["mcpRequest", "desk", { server: "alpha", method, params }] as const
const mcpReply = { contents: [{ uri: "note://1", text: "one" }], messages: [1] }

const rows: ReadonlyArray<Row> = [
  [
    "a window",
    ({ readResource }) => readResource("window://desk.app/notes?a=1"),
    [["getDesktop", "desk", { window: "window://app/notes?a=1" }]],
    [{ uri: "window://desk.app/notes?a=1", mimeType: "text/plain", text: "hello" }]
  ],
  [
    "a document",
    ({ readResource }) => readResource("dpe://desk.docs/d"),
    [["fetchDocument", "desk", "dpe://docs/d"]],
    [{ uri: "dpe://desk.docs/d", mimeType: "text/plain", text: "text" }]
  ],
  [
    "a file of a skill",
    ({ readResource }) => readResource("skill://desk/greet/a/b.md"),
    [["readSkill", "desk", "greet", "a/b.md"]],
    [{ uri: "skill://desk/greet/a/b.md", mimeType: "text/markdown", text: "# Hi" }]
  ],
  [
    "a resource of an MCP server",
    ({ readResource }) => readResource("mcp://desk/alpha/note://1"),
    [mcp("resources/read", { uri: "note://1" })],
    [{ uri: "mcp://desk/alpha/note://1", text: "one" }]
  ],
  [
    "a prompt",
    (session) => request(session, "prompts/get", { name: "desk__greet", arguments: { who: "Ada" }, _meta: { a: 1 } }),
    [mcp("prompts/get", { name: "greet", arguments: { who: "Ada" }, _meta: { a: 1 } })],
    mcpReply
  ],
  ...(
    [
      [
        "the completion of a prompt",
        { type: "ref/prompt", name: "desk__greet", title: "Greet" },
        { type: "ref/prompt", name: "greet", title: "Greet" }
      ],
      [
        "the completion of a resource template",
        { type: "ref/resource", uri: "mcp://desk/alpha/note://{id}" },
        { type: "ref/resource", uri: "note://{id}" }
      ]
    ] as const
  ).map(([title, ref, refAtServer]): Row => {
    const rest = { argument, context: { arguments: { a: "b" } } }
    return [
      title,
      (session) => request(session, "completion/complete", { ref, ...rest }),
      [mcp("completion/complete", { ref: refAtServer, ...rest })],
      mcpReply
    ]
  }),
  [
    "the desktop of one Computer",
    ({ callTool }) => callTool("desktop_get", { computer: "desk", size: 2, window: "window://app/notes" }),
    [["getDesktop", "desk", { size: 2, window: "window://app/notes" }]],
    { content: ["Computer desk: 1 window", "window://app/notes\n\nhello"].map(text) }
  ],
  [
    "the desktops of all Computers",
    ({ callTool }) => callTool("desktop_get", {}),
    [
      ["getDesktop", "attic", {}],
      ["getDesktop", "desk", {}]
    ],
    {
      content: [
        "Computer attic: 1 window",
        "window://app/notes\n\nhello",
        "Computer desk: 1 window",
        "window://app/notes\n\nhello"
      ].map(text)
    }
  ],
  [
    "a call",
    ({ callTool }) => callTool("desk__echo", { a: 1 }),
    [["callTool", { computer: "desk", tool: "echo", params: { a: 1 }, timeout: 300 }]],
    done
  ],
  [
    "a call by the tool that calls tools",
    ({ callTool }) => callTool("tools_call", { name: "desk__echo", arguments: { a: 1 } }),
    [["callTool", { computer: "desk", tool: "echo", params: { a: 1 }, timeout: 300 }]],
    done
  ],
  [
    "a task that starts",
    ({ tasks }) =>
      Effect.flatMap(tasks?.start("desk__echo", { a: 1 }) ?? withoutTasks, (task) => task?.result ?? withoutTasks),
    [
      ["startTool", { computer: "desk", tool: "echo", params: { a: 1 }, timeout: 3600 }],
      ["status", "desk", "t"],
      ["result", "desk", "t"]
    ],
    done
  ],
  [
    "a task that is found and cancelled",
    ({ tasks }) =>
      Effect.flatMap(tasks?.find("t2@desk") ?? withoutTasks, ({ cancel, createdAt, id }) =>
        Effect.as(cancel, { createdAt, id })
      ),
    [
      ["status", "desk", "t2"],
      ["cancel", "desk", "t2"]
    ],
    { createdAt: 7, id: "t2@desk" }
  ]
]

describe("a request of the host of a published office", () => {
  it.effect.each(rows)("reaches its Computer as a whole, and its reply the host: %s", ([, send, expected, result]) =>
    Effect.gen(function* () {
      const { received, session } = yield* published()
      assert.deepStrictEqual(JSON.parse(JSON.stringify(yield* send(session))), result)
      assert.deepStrictEqual(received, expected)
    })
  )

  it.effect("has the timeout of the office", () =>
    Effect.gen(function* () {
      const { received, session } = yield* published({ timeout: 7 })
      yield* session.callTool("desk__echo", {})
      yield* session.callTool("tools_call", { name: "desk__echo" })
      assert.deepStrictEqual(
        received.map(([, call]) => call),
        Array.from({ length: 2 }, () => ({ computer: "desk", tool: "echo", params: {}, timeout: 7 }))
      )
    })
  )

  it.effect("lists windows, documents and skills of all Computers, documents page by page", () =>
    Effect.gen(function* () {
      const { received, session } = yield* published()
      const { items, nextCursor } = yield* session.listResources()
      const ofComputer = (computer: string) => [
        ...[1, 2].map(() => ({
          uri: `dpe://${computer}.docs/d`,
          name: "D",
          title: "D",
          description: "All of it",
          _meta: { page_count: 3 }
        })),
        {
          uri: `skill://${computer}/greet/SKILL.md`,
          name: "greet",
          description: "Greets",
          mimeType: "text/markdown",
          _meta: { license: "MIT", version: "1.0" }
        }
      ]
      const windows = ["attic", "desk"].map((computer) => ({
        uri: `window://${computer}.app/notes`,
        name: `${computer}.app/notes`,
        description: "The current content of a Computer's window",
        mimeType: "text/plain"
      }))
      assert.deepStrictEqual<unknown>(items, [...windows, ...ofComputer("attic"), ...ofComputer("desk")])
      assert.isUndefined(nextCursor)
      const pages = received.filter(([method, computer]) => method === "findDocuments" && computer === "desk")
      assert.deepStrictEqual(
        pages.map(([, , query]) => query),
        [0, 1, 2].map((offset) => ({ offset, limit: 100 }))
      )
    })
  )

  it.effect.each(["skills", "findDocuments"] as const)(
    "leaves out after three seconds what a Computer does not list: %s",
    (method) =>
      Effect.gen(function* () {
        const { session } = yield* published({}, undefined, { [method]: () => Effect.never })
        const listing = yield* Effect.forkChild(session.listResources(), { startImmediately: true })
        yield* TestClock.adjust("2999 millis")
        assert.isUndefined(listing.pollUnsafe())
        yield* TestClock.adjust("1 millis")
        const { items } = yield* Fiber.join(listing)
        const schemes = new Set(items.map(({ uri }) => String(uri).split(":")[0]))
        assert.deepStrictEqual([...schemes], ["window", method === "skills" ? "dpe" : "skill"])
      })
  )

  const lost = new Disconnected({ message: "Connection closed: test" })
  it.effect.each(
    rows
      .filter(([name]) => !/^(a call|the desktop|a task)/.test(name))
      .map(([name, send]) => [name, send, "unavailable", undefined] as const)
  )("fails with the reason of its Agent: %s", ([, send, reason, code]) =>
    Effect.gen(function* () {
      const { session } = yield* published({}, lost)
      const error = yield* Effect.flip(send(session))
      assert.deepStrictEqual([error.reason, error.code, error.message], [reason, code, lost.message])
    })
  )

  it.effect("fails with the error of the MCP server, unchanged", () =>
    Effect.gen(function* () {
      const failure = new McpSessionError({ reason: "protocol", code: -32_001, message: "no", data: { at: 1 } })
      const { session } = yield* published({}, failure as never)
      for (const [name, send] of rows)
        if (/prompt|template|MCP/.test(name)) assert.strictEqual(yield* Effect.flip(send(session)), failure)
    })
  )

  it.effect("gives an error result for a call that fails, also of the desktop", () =>
    Effect.gen(function* () {
      const { session } = yield* published({}, lost)
      for (const [name, params] of [
        ["desk__echo", {}],
        ["tools_call", { name: "desk__echo" }]
      ] as const) {
        const { content, isError } = yield* session.callTool(name, params)
        assert.deepStrictEqual([content, isError], [[{ type: "text", text: `The call failed: ${lost.message}` }], true])
      }
      const desktop = yield* session.callTool("desktop_get", { computer: "desk" })
      assert.deepStrictEqual(desktop["content"], [
        { type: "text", text: `Computer desk has no desktop to show: ${lost.message}` }
      ])
    })
  )

  it.effect.each([
    [new TaskLost({ computer: "desk", message: "The task is lost" }), -32_602],
    [lost, -32_603]
  ] as const)("fails with the reason for a task: %s", ([failure, code]) =>
    Effect.gen(function* () {
      const { session } = yield* published({}, failure as never)
      for (const asking of [session.tasks?.start("desk__echo", {}), session.tasks?.find("t@desk")]) {
        const error = yield* Effect.flip(asking ?? withoutTasks)
        assert.deepStrictEqual([error.reason, error.code, error.message], ["protocol", code, failure.message])
      }
    })
  )
})

describe("a request of the host while the view of the office is refreshed", () => {
  const newer: ComputerView = {
    ...desk,
    tools: [echo, { ...echo, name: "other" }],
    servers: [{ ...server, prompts: [{ name: "bye" }], apps: [{ uri: "ui://a", name: "a" }] }]
  }
  const waiting: ReadonlyArray<readonly [string, Send, seen: string]> = [
    ["the list of tools", ({ listTools }) => listTools(), "desk__other"],
    ["the list of resources", ({ listResources }) => listResources(), "ui://desk/alpha/a"],
    ["the list of prompts", (session) => request(session, "prompts/list", {}), "desk__bye"],
    ["a call of a tool that is not listed yet", ({ callTool }) => callTool("desk__other", {}), "done"]
  ]
  it.effect.each(waiting)("waits for the refresh: %s", ([, send, seen]) =>
    Effect.gen(function* () {
      const { session, settled, view } = yield* published()
      yield* settled.close
      const sending = yield* Effect.forkChild(send(session), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(sending.pollUnsafe())
      yield* SubscriptionRef.set(view, officeWith(new Map([["desk", newer]])))
      yield* settled.open
      assert.include(JSON.stringify(yield* Fiber.join(sending)), seen)
    })
  )

  it.effect.each(waiting)("waits for at most five seconds: %s", ([, send]) =>
    Effect.gen(function* () {
      const { session, settled } = yield* published()
      yield* settled.close
      const sending = yield* Effect.forkChild(send(session), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.isDefined(sending.pollUnsafe())
    })
  )

  it.effect("comes after the start of the session, which waits for the refresh for at most two seconds", () =>
    Effect.gen(function* () {
      const settled = Latch.makeUnsafe(false)
      const start = Effect.forkChild(published({}, undefined, { settled: settled.await }), { startImmediately: true })
      const slow = yield* start
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(slow.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.isDefined(slow.pollUnsafe())
      const quick = yield* start
      yield* settled.open
      yield* Fiber.join(quick)
    })
  )

  it.effect("does not wait: a call of a listed tool", () =>
    Effect.gen(function* () {
      const { session, settled } = yield* published()
      yield* settled.close
      assert.include(JSON.stringify(yield* session.callTool("desk__echo", {})), "done")
    })
  )
})

describe("what is not in a published office", () => {
  const missing = (uri: string) => `There is no resource ${uri} in this office`
  const gone = "mcp://gone/alpha/note://1"
  const ref = { type: "ref/resource", uri: "x" }
  const failures: ReadonlyArray<readonly [string, Send, number, string]> = [
    ["a resource", ({ readResource }) => readResource("note://1"), -32_002, missing("note://1")],
    ["a resource of an absent Computer", ({ readResource }) => readResource(gone), -32_002, missing(gone)],
    [
      "a prompt",
      (session) => request(session, "prompts/get", { name: "desk__bye" }),
      -32_602,
      "There is no prompt 'desk__bye' in this office"
    ],
    [
      "the completion of another thing",
      (session) => request(session, "completion/complete", { ref, argument }),
      -32_602,
      "'ref' must name a prompt or a resource template of this office"
    ],
    ["a task", ({ tasks }) => tasks?.find("nothing") ?? withoutTasks, -32_602, "There is no task 'nothing'"]
  ]
  it.effect.each(failures)("has an error with its name: %s", ([, send, code, message]) =>
    Effect.gen(function* () {
      const { received, session } = yield* published()
      const error = yield* Effect.flip(send(session))
      assert.deepStrictEqual([error.reason, error.code, error.message], ["protocol", code, message])
      assert.deepStrictEqual(received, [])
    })
  )

  it.effect("is named in the texts of the tools of the office", () =>
    Effect.gen(function* () {
      const { session, view } = yield* published()
      const textAt = (name: string, params: Parameters<McpSession["callTool"]>[1]) =>
        Effect.map(session.callTool(name, params), (result) => firstText(result as never))
      assert.strictEqual(yield* textAt("computers_list", {}), "attic: 1 tool\ndesk: 1 tool")
      const absent = yield* session.callTool("desktop_get", { computer: "gone" })
      const hint = "There is no Computer 'gone' here, only attic, desk"
      assert.deepInclude(absent, { content: [{ type: "text", text: hint }], isError: true })
      yield* SubscriptionRef.set(view, officeWith(new Map([["desk", { ...desk, tools: undefined }]])))
      assert.strictEqual(yield* textAt("computers_list", {}), "desk: tools not loaded yet")
      yield* SubscriptionRef.set(view, officeWith(new Map()))
      for (const name of ["computers_list", "desktop_get"])
        assert.strictEqual(yield* textAt(name, {}), "No Computer is in this office.")
      for (const params of [{}, { name: 7 }, { name: "desk__echo", arguments: [] }])
        assert.strictEqual(
          yield* textAt("tools_call", params),
          "Expected {name, arguments}: the name of a tool, and an object"
        )
    })
  )

  it.effect(
    "includes tools and prompts of a Computer that has left, but not those of one that restarts its servers",
    () =>
      Effect.gen(function* () {
        const { received, session, view } = yield* published()
        yield* session.listTools()
        yield* request(session, "prompts/list", {})
        yield* SubscriptionRef.set(view, officeWith(new Map([["desk", { ...desk, tools: [], servers: [] }]])))
        yield* Effect.yieldNow
        const call = (computer: string) => session.callTool(`${computer}__echo`, {})
        const prompt = (computer: string) => request(session, "prompts/get", { name: `${computer}__greet` })
        assert.isFalse((yield* call("desk"))["isError"])
        yield* prompt("desk")
        assert.deepStrictEqual(
          received.map(([method]) => method),
          ["callTool", "mcpRequest"]
        )
        assert.include(
          firstText((yield* call("attic")) as never),
          "There is no tool 'attic__echo' in this office (any more)."
        )
        assert.strictEqual(
          (yield* Effect.flip(prompt("attic"))).message,
          "There is no prompt 'attic__greet' in this office"
        )
      })
  )
})

describe("a prompt that is not listed any more", () => {
  it.effect("is one of the latest thousand", () =>
    Effect.gen(function* () {
      const { received, session, view } = yield* published()
      const list = (names: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const prompts = names.map((name) => ({ name }))
          yield* SubscriptionRef.set(
            view,
            officeWith(new Map([["desk", { ...desk, servers: [{ ...server, prompts }] }]]))
          )
          yield* request(session, "prompts/list", {})
        })
      yield* list(Array.from({ length: 1001 }, (_, n) => `p${n}`))
      yield* list(["greet"])
      yield* list([])
      for (const name of ["desk__greet", "desk__p1000"]) yield* request(session, "prompts/get", { name })
      assert.deepStrictEqual(
        received.map(([, , asked]) => Object(asked).params),
        [{ name: "greet" }, { name: "p1000" }]
      )
      yield* Effect.flip(request(session, "prompts/get", { name: "desk__p0" }))
    })
  )
})

describe("a prompt that another MCP server has now", () => {
  it.effect("is that of the other server, also after the list of the earlier one", () =>
    Effect.gen(function* () {
      const { received, session, view } = yield* published()
      yield* request(session, "prompts/list", {})
      const beta = { ...server, id: "beta" }
      yield* SubscriptionRef.set(view, officeWith(new Map([["desk", { ...desk, servers: [beta] }]])))
      yield* Effect.yieldNow
      const ref = { type: "ref/prompt", name: "desk__greet" }
      yield* request(session, "prompts/get", { name: "desk__greet" })
      yield* request(session, "completion/complete", { ref, argument })
      assert.deepStrictEqual(
        received.map(([, , asked]) => Object(asked).server),
        ["beta", "beta"]
      )
    })
  )
})

const ways: ReadonlyArray<
  readonly [string, (session: McpSession, options: McpCallOptions) => Effect.Effect<unknown, McpSessionError>]
> = [
  ["a call", ({ callTool }, options) => callTool("desk__echo", {}, options)],
  [
    "a call by the tool that calls tools",
    ({ callTool }, options) => callTool("tools_call", { name: "desk__echo" }, options)
  ],
  ["a task that starts", ({ tasks }, options) => tasks?.start("desk__echo", {}, options) ?? withoutTasks],
  ["a task that is found", ({ tasks }, options) => tasks?.find("t@desk", options) ?? withoutTasks]
]

describe.each(ways)("the host of %s", (_, send) => {
  const progress = { _tag: "Progressing", computer: "desk", progress: 1, total: 2, message: "half" } as const
  const responder = (modes: InputResponder["modes"]): InputResponder => ({
    modes,
    answer: () => Effect.succeed({ action: "accept", content: { decision: "allow" } })
  })

  it.effect("receives its statuses", () =>
    Effect.gen(function* () {
      const { hooks, session } = yield* published()
      const seen: Array<McpProgress> = []
      yield* send(session, { onProgress: (step) => Effect.sync(() => void seen.push(step)) })
      yield* hooks[0]?.onStatus?.(progress) ?? Effect.void
      yield* hooks[0]?.onStatus?.({ _tag: "WaitingForConsent", computer: "desk" }) ?? Effect.void
      const approval = { id: "q", server: "alpha", tool: "echo", waitSeconds: 9, isQuestion: true } as const
      yield* hooks[0]?.onStatus?.({ _tag: "WaitingForConsent", computer: "desk", approval }) ?? Effect.void
      assert.deepStrictEqual(seen, [
        { progress: 1, total: 2, message: "half" },
        { progress: 1, message: "waiting for an approval at desk" },
        { progress: 1, message: "waiting for the answer to a question of desk" }
      ])
      assert.deepStrictEqual([hooks[0]?.onInput, hooks[0]?.onApproval], [undefined, undefined])
    })
  )

  it.effect.each([
    [["form", "url"], true, true],
    [["form"], true, true],
    [["url"], true, false],
    [[], false, false]
  ] as const)("answers questions and decides where it can: %j", ([modes, answers, decides]) =>
    Effect.gen(function* () {
      const { hooks, session } = yield* published()
      yield* send(session, { responder: responder(modes) })
      const [{ inputModes, onApproval, onInput, onStatus } = {}] = hooks
      assert.deepStrictEqual(
        [inputModes, onInput !== undefined, onApproval !== undefined, onStatus],
        [answers ? modes : undefined, answers, decides, undefined]
      )
    })
  )
})

describe("the session of a published office", () => {
  it.effect("closes once the office cannot be rejoined, not before", () =>
    Effect.gen(function* () {
      const { session, status } = yield* published()
      const closing = yield* Effect.forkChild(session.closed, { startImmediately: true })
      yield* SubscriptionRef.set(status, { _tag: "Disconnected", reason: "test" })
      yield* Effect.yieldNow
      assert.isUndefined(closing.pollUnsafe())
      yield* SubscriptionRef.set(status, { _tag: "Failed", error: new Unreachable({ message: "gone" }) })
      const { message, reason } = yield* session.closed
      assert.deepStrictEqual([reason, message], ["closed", "The office cannot be rejoined"])
    })
  )

  const changed = (change: Partial<ComputerView>): OfficeView =>
    officeWith(new Map(full.computers).set("desk", { ...desk, ...change }))
  const other = { ...server, id: "beta", prompts: [], templates: [] }
  const uri = "window://desk.app/notes"
  it.effect.each([
    ["tools", { tools: [echo, { ...echo, name: "other" }] }, ["ToolsChanged"]],
    [
      "details of tools",
      { servers: [{ ...server, tools: [{ name: "echo", details: { title: "E" } }] }] },
      ["ToolsChanged"]
    ],
    ["prompts", { servers: [{ ...server, prompts: [] }] }, ["PromptsChanged"]],
    ["templates", { servers: [{ ...server, templates: [] }] }, ["PromptsChanged"]],
    ["a server without prompts", { servers: [server, other] }, []],
    ["apps", { servers: [{ ...server, apps: [{ uri: "ui://a" }] }] }, ["ResourcesChanged"]],
    ["documents", { documents: [] }, ["ResourcesChanged"]],
    ["skills", { skills: [] }, ["ResourcesChanged"]],
    ["another window", { desktop: [...(desk.desktop ?? []), "window://app/more\n\nx"] }, ["ResourcesChanged"]],
    ["the text of a window", { desktop: ["window://app/notes\n\nbye"] }, [uri]],
    ["nothing", {}, []]
  ] as ReadonlyArray<readonly [string, Partial<ComputerView>, ReadonlyArray<string>]>)(
    "announces a change once: %s",
    ([, change, expected]) =>
      Effect.gen(function* () {
        const { session, view } = yield* published()
        const changes = yield* watched(session, { tools: true, resources: true, prompts: true, uris: [uri] })
        yield* SubscriptionRef.set(view, changed(change))
        yield* settle
        yield* SubscriptionRef.set(view, changed({ ...change }))
        yield* settle
        assert.deepStrictEqual(changes, expected)
      })
  )

  it.effect("logs what its lists leave out, once", () =>
    Effect.gen(function* () {
      const logs: Array<unknown> = []
      const logger = Logger.make(({ logLevel, message }) => {
        if (logLevel === "Warn") logs.push(message)
      })
      const { session, view } = yield* published()
      const odd = { ...echo, paramsSchema: { type: "string" } }
      const computer = { ...desk, tools: [odd], servers: [{ ...server, templates: [{}], apps: [{}] }] }
      yield* SubscriptionRef.set(view, officeWith(new Map([["desk", computer]])))
      const lists = [
        session.listTools(),
        session.listResources(),
        request(session, "resources/templates/list", {})
      ] as ReadonlyArray<Effect.Effect<unknown, McpSessionError>>
      yield* Effect.forEach([...lists, ...lists], (list) => list).pipe(Effect.provide(Logger.layer([logger])))
      const omitted = (list: string, name: string, reason: string) => [
        "items omitted from listing",
        { office: "O1", list, omitted: 1, items: [{ name, reason }] }
      ]
      assert.deepStrictEqual(logs, [
        omitted("tools", "desk__echo", "inputSchema: its type is not object"),
        omitted("resources", "", "uri: not a text"),
        omitted("resourceTemplates", "", "uriTemplate: not a text")
      ])
    })
  )

  it.effect("has the instructions of the MCP servers of the time when a client connects", () =>
    Effect.gen(function* () {
      const { session, view } = yield* published()
      assert.notInclude(session.info.instructions, "MCP server 'alpha'")
      yield* SubscriptionRef.set(view, changed({ servers: [{ ...server, instructions: "Greet first." }] }))
      yield* settle
      assert.include(session.info.instructions, "These are the tools of the Computers in the office 'O1'.")
      assert.include(session.info.instructions, "Instructions of the MCP server 'alpha' of 'desk':\nGreet first.")
      yield* SubscriptionRef.set(view, full)
      yield* settle
      assert.notInclude(session.info.instructions, "Greet first.")
    })
  )

  it.effect("announces the MCP servers that the search of tools names", () =>
    Effect.gen(function* () {
      const { session, view } = yield* published({ tools: "search" })
      const changes = yield* watched(session, { tools: true, resources: true, prompts: true, uris: [] })
      yield* SubscriptionRef.set(view, changed({ servers: [server, other] }))
      yield* settle
      const { items } = yield* session.listTools()
      assert.include(String(items.find(({ name }) => name === "tools_search")?.["description"]), "beta")
      assert.deepStrictEqual(changes, ["ToolsChanged"])
    })
  )

  it.effect("announces to a host only what it watches", () =>
    Effect.gen(function* () {
      const { session, view } = yield* published()
      const changes = yield* watched(session, { tools: false, resources: false, uris: ["window://attic.app/notes"] })
      yield* SubscriptionRef.set(
        view,
        changed({ tools: [], servers: [], skills: [], desktop: ["window://app/notes\n\nbye"] })
      )
      yield* settle
      assert.deepStrictEqual(changes, [])
    })
  )
})
