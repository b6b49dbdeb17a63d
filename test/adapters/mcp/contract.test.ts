import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Option, Queue, Result, Schema, Scope, Stream } from "effect"
import { ChildProcess, type ChildProcessSpawner } from "effect/process"
import { afterAll } from "vitest"
import * as McpClient from "../../../src/adapters/mcp/client/McpClient.ts"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { openModernSession } from "../../../src/adapters/mcp/client/modern/openModernSession.ts"
import { listAllPages } from "../../../src/application/shared/paging.ts"
import {
  type McpChange,
  McpConnector,
  type McpSessionError,
  type McpProgress,
  type McpSession
} from "../../../src/application/ports/McpSession.ts"
import type { InputRequest } from "../../../src/domain/model/InputRequest.ts"
import { decodeEndpoint, StreamableParameters } from "../../../src/domain/config/endpointParameters.ts"
import { page, prompt, question, template } from "../../fixtures/contractWorld.ts"
import { listed, openInMemory, openPublished } from "../../fixtures/contractMemory.ts"
import { textOf } from "../../textOf.ts"
import { type TestBody, liveWith } from "../../testWith.ts"

const fixture = fileURLToPath(new URL("../../fixtures/contractServer.ts", import.meta.url))
const publishedFixture = fileURLToPath(new URL("../../fixtures/publishedServer.ts", import.meta.url))
type Open = Effect.Effect<McpSession, McpSessionError, Scope.Scope>

const Live = McpClient.layer.pipe(Layer.provideMerge(NodeServices.layer))

const connect = (type: "stdio" | "streamable" | "sse", parameters: object) =>
  McpConnector.use(({ connect: open }) => open("contract", Result.getOrThrow(decodeEndpoint(type, parameters))))

const overStdio = (program: string): Open =>
  connect("stdio", {
    command: process.execPath,
    args: [program, "stdio"],
    env: null,
    cwd: null,
    encoding: "utf-8",
    encoding_error_handler: "strict"
  }).pipe(Effect.provide(Live))

/** Starts the fixture as an HTTP server and returns the URL it prints. */
const serving = (mode: "http" | "sse" | "modern") =>
  Effect.gen(function* () {
    const child = yield* ChildProcess.make(process.execPath, [fixture, mode], { extendEnv: true })
    const [url] = yield* child.stdout.pipe(Stream.decodeText(), Stream.splitLines, Stream.take(1), Stream.runCollect)
    return url ?? ""
  }).pipe(Effect.orDie)

const parameters = { headers: null, timeout: "PT30S", sse_read_timeout: "PT300S", terminate_on_close: true }

/** Starts a fixture once for all sessions. Each session has a separate state there. */
const servingAll = (mode: "http" | "sse") => {
  const scope = Scope.makeUnsafe()
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runSync(Effect.cached(Scope.provide(Effect.provide(serving(mode), Live), scope)))
}

const streamable = (
  server: Effect.Effect<string, never, Scope.Scope | ChildProcessSpawner.ChildProcessSpawner>
): Open =>
  server.pipe(
    Effect.flatMap((url) => connect("streamable", { ...parameters, url })),
    Effect.provide(Live)
  )

/** Publishes the server in memory over HTTP and returns its URL. */
const publishing = openPublished.pipe(
  Effect.flatMap((session) => publishHttp(session, { port: 0, token: "allowAll" })),
  Effect.map(({ url }) => url),
  Effect.orDie
)

/** Opens a modern session with a server that also supports the legacy era. */
const streamableOfYoungerEra: Open = Effect.gen(function* () {
  const url = yield* publishing
  const decoded = yield* Effect.orDie(Schema.decodeEffect(StreamableParameters)({ ...parameters, url }))
  return yield* openModernSession(new URL(url), decoded, (fetch) => fetch)
}).pipe(Effect.provide(Live))

const overSse = (server: ReturnType<typeof serving>): Open =>
  server.pipe(
    Effect.flatMap((url) => connect("sse", { url, headers: null, timeout: 5, sse_read_timeout: 300 })),
    Effect.provide(Live)
  )

/**
 * Differences of a session behind a published one. Failed calls have a result that explains the failure. The
 * MCP server outlives the session, which lets it report the end.
 */
const throughPublish = [
  "fails with the code and the message of a protocol error",
  "closes with every in-flight call when its peer dies",
  // The log of an MCP server stays at the Computer.
  "reports log messages to a watch that wants them",
  // Without what MCP clients reject.
  "lists tools page by page, unchanged",
  "calls a tool and returns its result unchanged"
] as const

/** What the server of the contract says of itself. */
interface State {
  readonly started: number
  readonly cancelled: number
  readonly subscribed: ReadonlyArray<string>
}

/** The contract of every {@link McpSession}. `openAlone` has a peer without other sessions, which may die. */
const contract = (
  name: string,
  open: Open,
  { openAlone = open, otherwise = [] }: { readonly openAlone?: Open; readonly otherwise?: ReadonlyArray<string> } = {}
) => {
  const promise = (title: string, body: TestBody<McpSession>, openSession = open) =>
    otherwise.includes(title) || liveWith(openSession)(title, body)

  const state = (session: McpSession) =>
    Effect.map(session.callTool("waits", {}), (result) => JSON.parse(textOf(result)) as State)

  describe(name, () => {
    it.live("reports its name and its capabilities", () =>
      Effect.map(open, ({ info: { capabilities, name } }) => {
        const offered = { tools: true, resources: true, subscribe: true, prompts: true, completions: true }
        assert.deepStrictEqual([name, capabilities], ["contract", offered])
      })
    )

    promise("lists tools page by page, unchanged", function* (session) {
      const { items, nextCursor } = yield* session.listTools()
      assert.deepStrictEqual(items[0], listed("echo"))
      assert.deepStrictEqual([items.length, nextCursor], [4, "4"])
      assert.strictEqual((yield* listAllPages(session.listTools)).length, 13)
    })

    promise("calls a tool and returns its result unchanged", function* (session) {
      const echo = yield* session.callTool("echo", { a: [1, { b: "ü" }] })
      assert.strictEqual(textOf(echo), '{"a":[1,{"b":"ü"}]}')
      const { _meta, ...raw } = yield* session.callTool("raw", {})
      assert.deepStrictEqual(raw, {
        content: [
          { type: "hologram", data: [1] },
          { type: "text", text: "x", extra: true, annotations: { mood: "good" }, _meta: { b: 1 } }
        ],
        structuredContent: { a: [1] },
        vendor: "v"
      })
      // A server of the v2 SDK adds its name here.
      assert.deepInclude(_meta, { k: 1 })
      assert.strictEqual((yield* session.callTool("sorry", {}))["isError"], true)
    })

    promise("fails with the code and the message of a protocol error", function* (session) {
      const failure = yield* Effect.flip(session.callTool("refuse", {}))
      assert.deepStrictEqual([failure.reason, failure.code, failure.message], ["protocol", -32055, "not today"])
    })

    promise("reports progress in order", function* (session) {
      const seen: Array<McpProgress> = []
      yield* session.callTool("count", {}, { onProgress: (step) => Effect.sync(() => void seen.push(step)) })
      assert.deepStrictEqual(
        seen,
        [1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` }))
      )
    })

    for (const [title, tool, modes, answer, request] of [
      [
        "asks the responder of a call a question, and gives its answer to the peer",
        "ask",
        ["form"],
        { action: "accept", content: { name: "Ada" } },
        { mode: "form", message: question.message, schema: question.requestedSchema }
      ],
      [
        "lets the responder of a call open a page",
        "visit",
        ["form", "url"],
        { action: "accept" },
        { mode: "url", message: page.message, url: page.url }
      ]
    ] as const) {
      promise(title, function* (session) {
        const requests: Array<InputRequest> = []
        const record = (asked: InputRequest) =>
          Effect.as(
            Effect.sync(() => void requests.push(asked)),
            answer
          )
        const result = yield* session.callTool(tool, {}, { responder: { modes, answer: record } })
        assert.deepStrictEqual(JSON.parse(textOf(result)), answer)
        assert.deepStrictEqual<unknown>(requests, [request])
      })
    }

    promise("cancels the question of an interrupted call", function* (session) {
      const requests = yield* Deferred.make<void>()
      const ended = yield* Deferred.make<void>()
      const answer = () =>
        Deferred.succeed(requests, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(ended, undefined))
        )
      const calling = yield* Effect.forkChild(session.callTool("ask", {}, { responder: { modes: ["form"], answer } }))
      yield* Deferred.await(requests)
      yield* Fiber.interrupt(calling)
      yield* Deferred.await(ended)
    })

    promise("declines a question that the responder cannot answer", function* (session) {
      const responder = { modes: ["form"], answer: () => Effect.die("not asked") } as const
      const answers = [yield* session.callTool("visit", {}, { responder }), yield* session.callTool("ask", {})]
      for (const result of answers) assert.deepStrictEqual(JSON.parse(textOf(result)), { action: "decline" })
    })

    promise("passes prompts, completions and resource templates unchanged", function* (session) {
      const request = session.request ?? (() => Effect.die("no requests"))
      assert.deepStrictEqual((yield* request("prompts/list", {}))["prompts"], [prompt])
      const { messages, vendor } = yield* request("prompts/get", { name: "greet", arguments: { who: "Ada" } })
      assert.deepStrictEqual(
        [messages, vendor],
        [[{ role: "user", content: { type: "text", text: '{"who":"Ada"}' } }], 3]
      )
      const ref = { type: "ref/prompt", name: "greet" }
      const completed = yield* request("completion/complete", { ref, argument: { name: "who", value: "a" } })
      assert.deepStrictEqual(completed["completion"], { values: ["ada"], total: 1 })
      assert.deepStrictEqual((yield* request("resources/templates/list", {}))["resourceTemplates"], [template])
    })

    promise("reports log messages to a watch that wants them", function* (session) {
      const changes = yield* session.watch({ tools: true, resources: false, uris: [], logs: true })
      const logged = yield* Effect.forkChild(Stream.runHead(Stream.filter(changes, ({ _tag }) => _tag === "Logged")), {
        startImmediately: true
      })
      yield* session.callTool("log", {})
      const data = { text: "hello" }
      assert.deepStrictEqual(
        yield* Fiber.join(logged),
        Option.some({ _tag: "Logged", level: "warning", logger: "contract", data } as const)
      )
    })

    promise("cancels an interrupted call at the peer", function* (session) {
      const waiting = yield* Effect.forkChild(session.callTool("wait", {}))
      yield* Effect.repeat(state(session), { until: ({ started }) => started === 1 })
      yield* Fiber.interrupt(waiting)
      yield* Effect.repeat(state(session), { until: ({ cancelled }) => cancelled === 1 })
    })

    promise("reads resources", function* (session) {
      const two = { uri: "test://two", name: "test://two", vendor: 1 }
      assert.deepStrictEqual((yield* session.listResources()).items[1], two)
      assert.deepStrictEqual(yield* session.readResource("test://two"), [
        { uri: "test://two", text: "contents of test://two", vendor: 2 }
      ])
      assert.strictEqual((yield* Effect.flip(session.readResource("test://nine"))).reason, "protocol")
    })

    promise("reports changes of the watched items only", function* (session) {
      const seen = yield* Queue.unbounded<McpChange>()
      const watching = (watch: Parameters<McpSession["watch"]>[0]) =>
        Effect.flatMap(session.watch(watch), (changes) =>
          Effect.forkScoped(Stream.runForEach(changes, (change) => Queue.offer(seen, change)))
        )
      yield* watching({ tools: false, resources: false, uris: ["test://one"] })
      yield* session.callTool("touch", { uri: "test://two" })
      yield* session.callTool("touch", { uri: "test://one" })
      assert.deepStrictEqual(yield* Queue.take(seen), { _tag: "ResourceUpdated", uri: "test://one" })
      yield* watching({ tools: true, resources: true, uris: [] })
      yield* session.callTool("grow", {})
      const changes = [yield* Queue.take(seen), yield* Queue.take(seen)]
      assert.deepStrictEqual(changes.map(({ _tag }) => _tag).sort(), ["ResourcesChanged", "ToolsChanged"])
      assert.strictEqual((yield* listAllPages(session.listTools)).length, 14)
      assert.strictEqual((yield* session.listResources()).items.length, 4)
    })

    promise("ends a subscription with its scope", function* (session) {
      const watch = { tools: false, resources: false, uris: ["test://one"] }
      const { subscribed } = yield* Effect.scoped(Effect.andThen(session.watch(watch), state(session)))
      assert.deepStrictEqual(subscribed, ["test://one"])
      yield* Effect.repeat(state(session), { until: (now) => now.subscribed.length === 0 })
    })

    promise("responds to ping", function* ({ ping }) {
      yield* ping
    })

    promise("never degrades with a correct peer", function* (session) {
      yield* Effect.asVoid(session.watch({ tools: true, resources: true, uris: ["test://one"] }))
      const reason = yield* Effect.timeoutOption(session.degraded ?? Effect.never, "1 millis")
      assert.isTrue(Option.isNone(reason))
    })

    it.live("ends in-flight calls on close", () =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const session = yield* Scope.provide(open, scope)
        const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {})))
        const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
        const watching = yield* Effect.forkChild(Stream.runDrain(changes))
        yield* Effect.repeat(state(session), { until: ({ started }) => started === 1 })
        yield* Scope.close(scope, Exit.void)
        assert.strictEqual((yield* Fiber.join(waiting)).reason, "closed")
        yield* Fiber.join(watching)
        assert.strictEqual((yield* Effect.flip(session.ping)).reason, "closed")
      })
    )

    promise(
      "closes with every in-flight call when its peer dies",
      function* (session) {
        const closed = yield* Effect.forkScoped(session.closed)
        const waiting = yield* Effect.forkChild(Effect.flip(session.callTool("wait", {})))
        yield* Effect.repeat(state(session), { until: ({ started }) => started === 1 })
        yield* Effect.forkChild(Effect.ignore(session.callTool("die", {})))
        const failures = [
          yield* Fiber.join(waiting),
          yield* Fiber.join(closed),
          yield* Effect.flip(session.listTools())
        ]
        for (const { reason } of failures) assert.strictEqual(reason, "closed")
      },
      openAlone
    )
  })
}

describe("McpSession", () => {
  contract("in memory", openInMemory())
  contract("over stdio", overStdio(fixture))
  contract("over Streamable HTTP", streamable(servingAll("http")), { openAlone: streamable(serving("http")) })
  contract("over Streamable HTTP of revision 2026-07-28", streamable(serving("modern")))
  contract("over SSE", overSse(servingAll("sse")), { openAlone: overSse(serving("sse")) })
  contract("published over stdio", overStdio(publishedFixture), { otherwise: throughPublish })
  contract("published over Streamable HTTP", streamable(publishing), {
    otherwise: throughPublish
  })
  contract("published over HTTP of revision 2026-07-28", streamableOfYoungerEra, { otherwise: throughPublish })
})
