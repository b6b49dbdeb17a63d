import type { Readable } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  makeMemoryMcpServer,
  type MemoryMcpServerOptions,
  type MemoryTool
} from "../../../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError, type McpProgress } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { appCapability } from "../../../../src/domain/tools/appTools.ts"
import { overStreams, type Peer, clientKinds } from "./clients.ts"
import { textResult } from "../../../conformance/members.ts"
import { textOf } from "../../../textOf.ts"
import { liveWith } from "../../../testWith.ts"

/** A listed tool with members that a server could drop. */
const definitionOf = (name: string) => ({
  name,
  title: `Tool ${name}`,
  description: "does things",
  icons: [{ src: "data:image/png;base64,", theme: "light" }],
  annotations: { readOnlyHint: true, mood: "good" },
  inputSchema: { type: "object", "x-vendor": [name] },
  outputSchema: { type: "object", properties: { a: { type: "array" } } },
  vendor: { kept: true },
  _meta: { m: 1 }
})

const rawResult = {
  content: [{ type: "text", text: "x", annotations: { priority: 1 }, _meta: { b: 1 } }],
  structuredContent: { a: [1] },
  vendor: "v"
}

const failing = (reason: McpSessionError["reason"]): MemoryTool => ({
  definition: definitionOf(reason),
  run: () => Effect.fail(new McpSessionError({ reason, code: -32055, message: "no luck" }))
})

/** An in-memory server that records its calls. */
const makeWorld = Effect.fnUntraced(function* (options: MemoryMcpServerOptions = {}) {
  const started = yield* Deferred.make<void>()
  const interrupted = yield* Deferred.make<void>()
  const tools: ReadonlyArray<MemoryTool> = [
    { definition: definitionOf("raw"), run: () => Effect.succeed(rawResult) },
    { definition: definitionOf("echo"), run: (args) => Effect.succeed(textResult(JSON.stringify(args))) },
    { definition: definitionOf("numbers"), run: () => Effect.succeed({ content: [], structuredContent: [1] }) },
    { definition: definitionOf("bug"), run: () => Effect.die(new Error("a secret")) },
    {
      definition: definitionOf("count"),
      run: (_, { progress }) =>
        Effect.forEach([1, 2], (step) =>
          // The SDKs drop progress that arrives together with the response.
          Effect.andThen(progress({ progress: step, total: 2, message: `step ${step}` }), Effect.sleep(30))
        ).pipe(Effect.as(textResult("counted")))
    },
    {
      definition: definitionOf("wait"),
      run: () =>
        Effect.andThen(Deferred.succeed(started, undefined), Effect.never).pipe(
          Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
        )
    },
    ...(["protocol", "unavailable", "closed", "forbidden"] as const).map(failing)
  ]
  const server = yield* makeMemoryMcpServer({
    name: "world",
    tools,
    resources: [
      {
        definition: { uri: "test://one", name: "one", vendor: 1 },
        read: Effect.succeed([{ uri: "test://one", text: "1", vendor: 2 }])
      }
    ],
    ...options
  })
  const session = yield* server.connect
  return {
    server,
    session: { ...session, info: { ...session.info, instructions: "be kind" } },
    started: Deferred.await(started),
    interrupted: Deferred.await(interrupted)
  }
})

const call = (peer: Peer, name: string, args: JsonObject = {}) => peer.request("tools/call", { name, arguments: args })

for (const [way, connect] of clientKinds) {
  const opened = Effect.gen(function* () {
    const world = yield* makeWorld()
    return { ...world, peer: yield* connect(world.session) }
  })
  const live = liveWith(opened)

  describe(`a published session for ${way}`, () => {
    it.live("reports its name, capabilities and instructions, without capabilities that are missing", () =>
      Effect.gen(function* () {
        const tools = { listChanged: true }
        for (const [offered, resources] of [
          [{}, { resources: { listChanged: true, subscribe: true } }],
          [{ capabilities: { resources: false, subscribe: false } }, {}]
        ] as const) {
          const { server } = yield* connect((yield* makeWorld(offered)).session)
          const expected = { name: "world", version: "1.0.0", capabilities: { tools, ...resources } }
          assert.deepStrictEqual(server, { ...expected, instructions: "be kind" })
        }
      })
    )

    live("lists tools unchanged", function* ({ peer }) {
      const { tools } = yield* peer.request("tools/list")
      assert.deepStrictEqual((tools as ReadonlyArray<unknown>)[0], definitionOf("raw"))
    })

    it.live("lists page by page", () =>
      Effect.gen(function* () {
        const { session } = yield* makeWorld({ pageSize: 9 })
        const peer = yield* connect(session)
        const { nextCursor } = yield* peer.request("tools/list")
        const second = yield* peer.request("tools/list", { cursor: nextCursor })
        assert.deepStrictEqual(second["tools"], [definitionOf("forbidden")])
      })
    )

    live("returns a result unchanged", function* ({ peer }) {
      const { _meta, ...result } = yield* call(peer, "raw")
      assert.deepStrictEqual(result, rawResult)
    })

    live("wraps structured content for revisions that require an object", function* ({ peer }) {
      const { structuredContent } = yield* call(peer, "numbers")
      assert.deepStrictEqual(structuredContent, way.startsWith("the v1") ? { result: [1] } : [1])
    })

    it.live("lists apps and their tools for clients that show apps only", () =>
      Effect.gen(function* () {
        const ui = { resourceUri: "ui://draw", visibility: ["app"] }
        const { server } = yield* makeWorld({
          tools: ["shown", "hidden"].map((name) => ({
            definition: { ...definitionOf(name), ...(name === "hidden" && { _meta: { ui } }) },
            run: () => Effect.succeed(textResult(name))
          })),
          resources: ["ui://draw", "test://one"].map((uri) => ({
            definition: { uri, name: uri },
            read: Effect.succeed([{ uri, text: uri }])
          }))
        })
        const session = yield* server.connect
        const namesFor = Effect.fnUntraced(function* (capabilities?: { extensions: typeof appCapability }) {
          const peer = yield* connect(session, capabilities)
          const { tools } = yield* peer.request("tools/list")
          const { resources } = yield* peer.request("resources/list")
          const names = [tools, resources].map((items) =>
            (items as ReadonlyArray<JsonObject>).map((item) => item["name"])
          )
          return { names, called: textOf(yield* call(peer, "hidden")) }
        })
        const shown = yield* namesFor({ extensions: appCapability })
        assert.deepStrictEqual(shown.names, [
          ["shown", "hidden"],
          ["ui://draw", "test://one"]
        ])
        assert.deepStrictEqual((yield* namesFor()).names, [["shown"], ["test://one"]])
        assert.strictEqual(shown.called, "hidden")
      })
    )

    it.effect("sends a heartbeat every five seconds of a silent call", () =>
      Effect.gen(function* () {
        const { peer, started } = yield* opened
        const seen = yield* Queue.unbounded<McpProgress>()
        yield* Effect.forkScoped(
          peer.request("tools/call", { name: "wait" }, (progress) => void Queue.offerUnsafe(seen, progress))
        )
        yield* started
        yield* TestClock.adjust("5 seconds")
        const first = yield* Queue.take(seen)
        yield* TestClock.adjust("5 seconds")
        const second = yield* Queue.take(seen)
        assert.deepStrictEqual([first.message, second.message], ["running for 5 s", "running for 10 s"])
        assert.isAbove(second.progress, first.progress)
      })
    )

    live("interrupts the call of a disconnected client", function* ({ interrupted, peer, started }) {
      yield* Effect.forkChild(Effect.ignore(call(peer, "wait")))
      yield* started
      yield* peer.vanish
      yield* interrupted
    })

    for (const [reason, words] of [
      ["protocol", "rejected the call: no luck (error -32055)"],
      ["unavailable", "is unavailable: no luck"],
      ["closed", "was lost before it responded: no luck"],
      ["forbidden", "requires authorization (no luck)"]
    ] as const) {
      live(`explains to a model why a call failed (${reason})`, function* ({ peer }) {
        const result = yield* call(peer, reason)
        assert.strictEqual(result["isError"], true)
        assert.include(textOf(result), words)
      })
    }

    live("rejects the method of a missing capability with the error -32601", function* ({ peer }) {
      const { code, message } = yield* Effect.flip(peer.request("prompts/list", {}))
      // The v2 SDK quotes the body of HTTP 404, and does not decode it.
      assert.include(`${String(code)}: ${message}`, "-32601")
    })

    for (const [what, method, params, code] of [
      ["an unknown cursor", "tools/list", { cursor: "nowhere" }, -32602],
      ["a cursor that is not a string", "resources/list", { cursor: 7 }, -32602],
      ["an unknown resource", "resources/read", { uri: "test://nine" }, -32602],
      ["arguments that are not an object", "tools/call", { name: "echo", arguments: [1] }, -32602],
      ["a defect, without its message,", "tools/call", { name: "bug" }, -32603]
    ] as const) {
      live(`rejects ${what} with the error ${code}`, function* ({ peer }) {
        const failure = yield* Effect.flip(peer.request(method, params))
        assert.strictEqual(failure.code, code)
        assert.notInclude(failure.message, "secret")
      })
    }

    // Over stdio the process ends instead.
    if (way.endsWith("HTTP")) {
      live("fails every request after the session has closed", function* ({ peer, server }) {
        yield* server.crash("the house burnt down")
        assert.include(textOf(yield* call(peer, "echo")), "the house burnt down")
        assert.include((yield* Effect.flip(peer.request("tools/list"))).message, "the house burnt down")
      })
    }

    it.live("interrupts every call on close", () =>
      Effect.gen(function* () {
        const { interrupted, session, started } = yield* makeWorld()
        const scope = yield* Scope.make()
        const peer = yield* Scope.provide(connect(session), scope)
        yield* Effect.forkChild(Effect.ignore(call(peer, "wait")))
        yield* started
        yield* Scope.close(scope, Exit.void)
        yield* interrupted
      })
    )
  })
}

describe("publishStdio", () => {
  const initialize = {
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "pipe", version: "0" } }
  }
  const lineOf = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`

  /** What was written; Node 26 reads one chunk at a time. */
  const textIn = (stream: Readable): string => {
    let text = ""
    for (let chunk = stream.read() as Buffer | null; chunk !== null; chunk = stream.read()) text += chunk.toString()
    return text
  }

  it.live("answers piped requests before the end of input", () =>
    Effect.gen(function* () {
      const { session } = yield* makeWorld()
      const { published, stdin, stdout } = yield* overStreams(session)
      const call = lineOf({ id: 2, method: "tools/call", params: { name: "count" } })
      stdin.end(`no message\n${lineOf(initialize)}${call}`)
      yield* Fiber.join(published)
      const lines = textIn(stdout).trimEnd().split("\n")
      const ids = lines.map((line) => (JSON.parse(line) as { readonly id: number }).id)
      assert.deepStrictEqual(ids, [1, 2])
    })
  )

  it.live.each([
    ["null parameters", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":null}', "result"],
    ["a list of parameters", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":[]}', "result"],
    ["null metadata", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":null}}', "result"],
    [
      "a null token",
      '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"progressToken":null}}}',
      "result"
    ],
    ["a null cursor", '{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"cursor":null}}', "result"],
    [
      "null arguments",
      '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"count","arguments":null}}',
      "result"
    ],
    ["no version", '{"id":5,"method":"ping"}', "result"],
    ["a number as version", '{"jsonrpc":2,"id":5,"method":"ping"}', "result"],
    ["unknown members", '{"jsonrpc":"2.0","id":5,"method":"ping","auth":{},"result":null}', "result"],
    ["a text as parameters", '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":"x"}', "error"],
    ["a batch", '[{"jsonrpc":"2.0","id":4,"method":"ping"},{"jsonrpc":"2.0","id":5,"method":"ping"}]', "result"],
    ["a byte order mark", '\u{feff}{"jsonrpc":"2.0","id":5,"method":"ping"}', "result"],
    ["a carriage return", '{"jsonrpc":"2.0","id":5,"method":"ping"}\r', "result"],
    ["no method", '{"jsonrpc":"2.0","id":5}', "error"],
    ["a number as method", '{"jsonrpc":"2.0","id":5,"method":7}', "error"],
    ["a number that JSON lacks", '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"x":NaN}}', "error"]
  ] as const)("answers a request with %s over stdio", ([, line, expected]) =>
    Effect.gen(function* () {
      const { session } = yield* makeWorld()
      const { published, stdin, stdout } = yield* overStreams(session)
      stdin.end(`${lineOf(initialize)}${line}\n`)
      yield* Fiber.join(published)
      const answers = textIn(stdout)
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text) as JsonObject)
      assert.property(
        answers.find(({ id }) => id === 5),
        expected
      )
    })
  )
})
