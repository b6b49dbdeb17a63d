import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema, Stream } from "effect"
import { z } from "zod"
import type { InputResponder, McpChange, McpProgress } from "../../../src/application/ports/McpSession.ts"
import type { FunctionTool } from "../../../src/adapters/functions/FunctionDefinitions.ts"
import type { FunctionsOptions } from "../../../src/adapters/functions/makeFunctions.ts"
import { makeFunctions } from "../../../src/main/layers/computerLayer.ts"
import { defineTool } from "../../../src/main/entrypoints/tools.ts"

const tool = (name: string, run: FunctionTool["run"], more: Partial<FunctionTool> = {}): FunctionTool => ({
  name,
  run,
  ...more
})

const text = (value: string) => ({ content: [{ type: "text", text: value }] })

/** The result of a call of the only tool. */
const resultOf = (run: FunctionTool["run"], more: Partial<FunctionTool> = {}, params = {}) =>
  Effect.flatMap(makeFunctions({ tools: [tool("it", run, more)] }), ({ session }) => session.callTool("it", params))

const namesOf = (functions: FunctionsOptions) =>
  Effect.flatMap(makeFunctions(functions), ({ session }) =>
    Effect.map(session.listTools(), ({ items }) => items.map(({ name }) => name))
  )

const reasonOf = (functions: FunctionsOptions) =>
  Effect.map(Effect.flip(makeFunctions(functions)), ({ message }) => message)

describe("the definition of a function", () => {
  const length = { type: "object", properties: { size: { type: "integer" } } }

  it.effect("is listed as an MCP tool", () =>
    Effect.gen(function* () {
      const { session } = yield* makeFunctions({
        tools: [
          tool("measure", () => "", {
            title: "Measure",
            description: "Measures a text",
            params: { type: "object", properties: { text: { type: "string" } } },
            output: length,
            annotations: { readOnlyHint: true }
          })
        ]
      })
      assert.deepStrictEqual((yield* session.listTools()).items, [
        {
          name: "measure",
          title: "Measure",
          description: "Measures a text",
          inputSchema: { type: "object", properties: { text: { type: "string" } } },
          outputSchema: length,
          annotations: { readOnlyHint: true }
        }
      ])
    })
  )

  it.effect.each([
    ["an Effect Schema", Schema.Struct({ text: Schema.String })],
    ["zod", z.object({ text: z.string() })],
    ["a JSON Schema", { type: "object", properties: { text: { type: "string" } }, required: ["text"] }]
  ] as const)("describes and checks its parameters by %s", ([, params]) =>
    Effect.gen(function* () {
      const { session } = yield* makeFunctions({ tools: [tool("it", ({ text: given }) => String(given), { params })] })
      const [{ inputSchema } = { inputSchema: {} }] = (yield* session.listTools()).items
      assert.containSubset(inputSchema, { type: "object", properties: { text: { type: "string" } } })
      assert.deepStrictEqual(yield* session.callTool("it", { text: "a" }), text("a"))
      const { content, isError } = yield* session.callTool("it", {})
      assert.isTrue(isError)
      assert.deepStrictEqual(
        content,
        text("The tool was not called: invalid arguments.\n- text: Field required").content
      )
    })
  )

  it.effect("gives decoded parameters to the function", () =>
    Effect.gen(function* () {
      const params = Schema.Struct({ at: Schema.DateFromString })
      const definition = defineTool({ name: "it", description: "", params, run: ({ at }) => at.getTime() })
      const { session } = yield* makeFunctions({ tools: [definition] })
      assert.deepStrictEqual((yield* session.callTool("it", { at: "1970-01-01T00:00:01Z" }))["structuredContent"], {
        result: 1000
      })
    })
  )

  it.effect("is rejected with its name for a name that hosts do not accept", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* reasonOf({ tools: [tool("a b", () => "")] }),
        "tool 'a b' cannot be offered: a name has 1 to 128 letters, digits, '_', '-' and '.'"
      )
    })
  )

  it.effect.each([
    [{ type: "array" }, /^tool 'it' cannot be offered: params: the parameters must be an object/],
    [{ properties: { a: { type: "no type" } } }, /^tool 'it' cannot be offered: params: /]
  ] as const)("is rejected for the parameters %j", ([params, reason]) =>
    Effect.map(reasonOf({ tools: [tool("it", () => "", { params })] }), (message) => assert.match(message, reason))
  )

  it.effect("is rejected for a window with an invalid priority", () =>
    Effect.map(reasonOf({ windows: [{ name: "w", text: () => "", priority: 101 }] }), (message) =>
      assert.strictEqual(message, "window 'w' cannot be offered: priority must be an integer from 0 to 100")
    )
  )

  it.effect("changes nothing when one of several is rejected", () =>
    Effect.gen(function* () {
      const { offer, session } = yield* makeFunctions()
      assert.throws(() => offer({ tools: [tool("good", () => ""), tool("", () => "")] }), /tool ''/)
      assert.deepStrictEqual((yield* session.listTools()).items, [])
    })
  )

  it.effect("is rejected beyond a thousand tools", () =>
    Effect.gen(function* () {
      const tools = Array.from({ length: 1001 }, (_, index) => tool(`t${index}`, () => ""))
      assert.strictEqual(yield* reasonOf({ tools }), "more than 1000 tools are offered")
    })
  )
})

describe("the result of a function", () => {
  const png = new Uint8Array([1, 2, 3])
  const block = { type: "text", text: "hi" } as const

  it.effect.each([
    ["a text", "hi", text("hi")],
    ["nothing", undefined, { content: [] }],
    ["an object", { a: 1 }, { ...text('{"a":1}'), structuredContent: { a: 1 } }],
    ["a list", [1, 2], { ...text("[1,2]"), structuredContent: { result: [1, 2] } }],
    ["a block", block, text("hi")],
    ["a whole result", { content: [block], isError: true }, { content: [block], isError: true }],
    [
      "an image",
      new Blob([png], { type: "image/png" }),
      { content: [{ type: "image", data: "AQID", mimeType: "image/png" }] }
    ],
    [
      "a sound",
      new Blob([png], { type: "audio/wav" }),
      { content: [{ type: "audio", data: "AQID", mimeType: "audio/wav" }] }
    ],
    [
      "a file of text",
      new File(["hi"], "a b.txt", { type: "text/plain;charset=utf-8" }),
      {
        content: [
          { type: "resource", resource: { uri: "attachment:///a%20b.txt", mimeType: "text/plain", text: "hi" } }
        ]
      }
    ],
    [
      "bytes",
      new Blob([png]),
      {
        content: [
          {
            type: "resource",
            resource: { uri: "attachment:///file", mimeType: "application/octet-stream", blob: "AQID" }
          }
        ]
      }
    ],
    [
      "a link",
      new URL("https://example.org/a/b.pdf?c"),
      { content: [{ type: "resource_link", uri: "https://example.org/a/b.pdf?c", name: "b.pdf" }] }
    ],
    [
      "a list of texts, blocks and files",
      ["one", block, new Blob([png], { type: "image/png" })],
      { content: [{ type: "text", text: "one" }, block, { type: "image", data: "AQID", mimeType: "image/png" }] }
    ]
  ])("is %s", ([, value, result]) =>
    Effect.map(
      resultOf(() => value),
      (got) => assert.deepStrictEqual<unknown>(got, result)
    )
  )

  it.effect.each([
    ["a promise", () => Promise.resolve("hi")],
    ["an Effect", () => Effect.succeed("hi")]
  ] as const)("may be that of %s", ([, run]) =>
    Effect.map(resultOf(run), (got) => assert.deepStrictEqual(got, text("hi")))
  )

  it.effect.each([
    [
      "throws",
      (): string => {
        throw new Error("no paper")
      },
      "no paper"
    ],
    ["rejects", () => Promise.reject(new Error("no paper")), "no paper"],
    ["returns no JSON", () => 1n, "the result is not JSON: Do not know how to serialize a BigInt"]
  ] as ReadonlyArray<readonly [string, FunctionTool["run"], string]>)(
    "is an error when the function %s",
    ([, run, message]) =>
      Effect.map(resultOf(run), (got) => assert.deepStrictEqual(got, { ...text(message), isError: true }))
  )

  it.effect("is an error when it does not fit the output schema", () =>
    Effect.gen(function* () {
      const output = { type: "object", properties: { size: { type: "integer" } } }
      assert.deepStrictEqual((yield* resultOf(() => ({ size: 1 }), { output }))["structuredContent"], { size: 1 })
      const { content, isError } = yield* resultOf(() => ({ size: "large" }), { output })
      assert.isTrue(isError)
      assert.match(JSON.stringify(content), /does not fit its output schema: size: /)
    })
  )
})

describe("the context of a function", () => {
  it.effect("reports progress before the result", () =>
    Effect.gen(function* () {
      const reports: Array<McpProgress> = []
      const { session } = yield* makeFunctions({
        tools: [tool("it", (_, { progress }) => progress({ progress: 1, total: 2, message: "half" }))]
      })
      const onProgress = (report: McpProgress) => Effect.sync(() => void reports.push(report))
      yield* session.callTool("it", {}, { onProgress })
      assert.deepStrictEqual(reports, [{ progress: 1, total: 2, message: "half" }])
    })
  )

  it.effect("names the caller", () =>
    Effect.gen(function* () {
      const { session } = yield* makeFunctions({ tools: [tool("it", (_, { requester }) => requester ?? "no name")] })
      assert.deepStrictEqual(yield* session.callTool("it", {}, { requester: "thinker" }), text("thinker"))
      assert.deepStrictEqual(yield* session.callTool("it", {}), text("no name"))
    })
  )

  const answering = (modes: InputResponder["modes"]): InputResponder => ({
    modes,
    answer: ({ message }) => Effect.succeed({ action: "accept", content: { message } })
  })
  it.effect.each([
    [answering(["form"]), '{"action":"accept","content":{"message":"who?"}}'],
    [answering(["url"]), '{"action":"decline"}'],
    [undefined, '{"action":"decline"}']
  ] as const)("asks the user of the call: %#", ([responder, answer]) =>
    Effect.gen(function* () {
      const { session } = yield* makeFunctions({
        tools: [tool("it", async (_, { ask }) => JSON.stringify(await ask({ message: "who?", schema: {} })))]
      })
      assert.deepStrictEqual(yield* session.callTool("it", {}, responder && { responder }), text(answer))
    })
  )

  it.effect("rejects a question with an invalid address", () =>
    Effect.map(
      resultOf((_, { ask }) => ask({ message: "", url: "javascript:alert(1)" })),
      (got) => assert.deepStrictEqual(got, { ...text("ask: url: expected an http or https URL"), isError: true })
    )
  )

  it.effect("aborts the signal of a cancelled call", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<AbortSignal>()
      const { session } = yield* makeFunctions({
        tools: [
          tool("it", (_, { signal }) => {
            Deferred.doneUnsafe(started, Effect.succeed(signal))
            return new Promise(() => undefined)
          })
        ]
      })
      const call = yield* Effect.forkChild(session.callTool("it", {}))
      const signal = yield* Deferred.await(started)
      assert.isFalse(signal.aborted)
      yield* Fiber.interrupt(call)
      assert.isTrue(signal.aborted)
    })
  )
})

const all = { tools: true, resources: true, uris: ["window://functions/w"] }

/** The changes that a session announces during some work, in the order of their kinds. */
const changesDuring = Effect.fnUntraced(function* (
  { session }: Effect.Success<ReturnType<typeof makeFunctions>>,
  work: () => void
) {
  // What was offered before is announced.
  yield* Effect.promise(() => Promise.resolve())
  const watched = yield* session.watch(all)
  const received: Array<McpChange["_tag"]> = []
  const watching = yield* Effect.forkChild(
    Stream.runForEach(watched, ({ _tag }) => Effect.sync(() => void received.push(_tag))),
    { startImmediately: true }
  )
  work()
  // Each hop of the stream is a turn of the event loop.
  for (let turn = 0; turn < 5; turn++) yield* Effect.promise(() => new Promise((done) => setImmediate(done)))
  yield* Fiber.interrupt(watching)
  return received
}, Effect.scoped)

describe("a session of functions", () => {
  const one = tool("one", () => "1")
  const two = tool("two", () => "2")

  it.effect("announces them once per task", () =>
    Effect.gen(function* () {
      const functions = yield* makeFunctions({ tools: [one] })
      assert.deepStrictEqual(
        yield* changesDuring(functions, () => {
          const withdraw = functions.offer({ tools: [two] })
          withdraw()
          functions.offer({ tools: [two], windows: [{ name: "w", text: () => "" }] })
        }),
        ["ToolsChanged", "ResourcesChanged"]
      )
      assert.deepStrictEqual(yield* changesDuring(functions, () => undefined), [])
    })
  )

  it.effect("replaces those of the same name", () =>
    Effect.gen(function* () {
      const { offer, session } = yield* makeFunctions({ tools: [one, two] })
      offer({ tools: [tool("one", () => "other")] })
      assert.deepStrictEqual(yield* session.callTool("one", {}), text("other"))
      assert.deepStrictEqual(
        (yield* session.listTools()).items.map(({ name }) => name),
        ["one", "two"]
      )
    })
  )

  it.effect("withdraws them, but not those that have replaced them", () =>
    Effect.gen(function* () {
      const { offer, session } = yield* makeFunctions()
      const withdraw = offer({ tools: [one, two] })
      offer({ tools: [tool("one", () => "other")] })
      withdraw()
      assert.deepStrictEqual(
        (yield* session.listTools()).items.map(({ name }) => name),
        ["one"]
      )
      assert.strictEqual((yield* Effect.flip(session.callTool("two", {}))).code, -32602)
    })
  )

  it.effect("knows no tools named like members of objects", () =>
    Effect.gen(function* () {
      const { session } = yield* makeFunctions()
      assert.strictEqual((yield* Effect.flip(session.callTool("toString", {}))).reason, "protocol")
      assert.deepStrictEqual(yield* namesOf({ tools: [tool("constructor", () => "")] }), ["constructor"])
    })
  )
})

/** A signal in the manner of stores. */
const makeSignal = (initial: string) => {
  const listeners = new Set<(text: string) => void>()
  let current = initial
  return {
    listeners,
    set: (next: string) => {
      current = next
      for (const listener of listeners) listener(next)
    },
    subscribe: (listener: (text: string) => void) => {
      listeners.add(listener)
      listener(current)
      return () => void listeners.delete(listener)
    }
  }
}

describe("windows and documents of functions", () => {
  it.effect("reads the text of a function each time", () =>
    Effect.gen(function* () {
      let count = 0
      const { session } = yield* makeFunctions({ windows: [{ name: "w", text: () => `text ${++count}`, priority: 3 }] })
      const uri = "window://functions/w?priority=3"
      assert.deepStrictEqual((yield* session.listResources()).items, [{ uri, name: "w", mimeType: "text/plain" }])
      for (const expected of ["text 1", "text 2"]) {
        assert.deepStrictEqual(yield* session.readResource(uri), [{ uri, mimeType: "text/plain", text: expected }])
      }
    })
  )

  it.effect("announces changes of a window, and no others", () =>
    Effect.gen(function* () {
      const functions = yield* makeFunctions({ windows: [{ name: "w", text: () => "" }] })
      assert.deepStrictEqual(
        yield* changesDuring(functions, () => {
          functions.changed("w")
          functions.changed("w")
          functions.changed("another")
        }),
        ["ResourceUpdated"]
      )
    })
  )

  it.effect("announces a window that another one of the same URI replaces, also after a withdrawal", () =>
    Effect.gen(function* () {
      const functions = yield* makeFunctions({ windows: [{ name: "w", text: () => "1" }] })
      const replaced = ["ResourcesChanged", "ResourceUpdated"] as const
      let withdraw = () => undefined as void
      const replace = (text: string) => () => {
        withdraw()
        withdraw = functions.offer({ windows: [{ name: "w", text: () => text }] })
      }
      assert.deepStrictEqual(yield* changesDuring(functions, replace("2")), [...replaced])
      assert.deepStrictEqual(yield* changesDuring(functions, replace("3")), [...replaced])
      assert.deepStrictEqual(yield* changesDuring(functions, withdraw), ["ResourcesChanged"])
    })
  )

  it.effect("replaces a window of the same name that has other parameters", () =>
    Effect.gen(function* () {
      const { offer, session } = yield* makeFunctions({ windows: [{ name: "w", priority: 1, text: () => "1" }] })
      offer({ windows: [{ name: "w", priority: 2, text: () => "2" }] })
      const uri = "window://functions/w?priority=2"
      assert.deepStrictEqual((yield* session.listResources()).items, [{ uri, name: "w", mimeType: "text/plain" }])
      yield* Effect.flip(session.readResource("window://functions/w?priority=1"))
    })
  )

  it.effect("follows a signal as long as its window is offered", () =>
    Effect.gen(function* () {
      const signal = makeSignal("one")
      const functions = yield* makeFunctions()
      const withdraw = functions.offer({ windows: [{ name: "w", text: signal }] })
      const read = Effect.map(functions.session.readResource("window://functions/w"), ([first]) => first?.["text"])
      assert.strictEqual(yield* read, "one")
      assert.deepStrictEqual(
        yield* changesDuring(functions, () => {
          signal.set("two")
          signal.set("two")
        }),
        ["ResourceUpdated"]
      )
      assert.strictEqual(yield* read, "two")
      withdraw()
      assert.strictEqual(signal.listeners.size, 0)
    })
  )

  it.effect("offers nothing when a signal throws", () =>
    Effect.gen(function* () {
      const signal = makeSignal("one")
      const { offer, session } = yield* makeFunctions()
      const broken = {
        subscribe: (): never => {
          throw new Error("no store")
        }
      }
      const windows = [
        { name: "a", text: signal },
        { name: "b", text: broken }
      ]
      assert.throws(() => offer({ tools: [tool("t", () => "")], windows }), "window 'b' cannot be offered: no store")
      assert.strictEqual(signal.listeners.size, 0)
      assert.deepStrictEqual((yield* session.listTools()).items, [])
    })
  )

  it.effect("leaves its signals when the scope closes", () =>
    Effect.gen(function* () {
      const signal = makeSignal("one")
      const { offer } = yield* Effect.scoped(makeFunctions({ windows: [{ name: "w", text: signal }] }))
      assert.strictEqual(signal.listeners.size, 0)
      offer({ windows: [{ name: "w", text: signal }] })
      assert.strictEqual(signal.listeners.size, 0)
    })
  )

  it.effect.each([
    ["a text", "# Plan", "text/plain", { text: "# Plan" }],
    ["bytes", new Blob([new Uint8Array([1, 2, 3])], { type: "application/pdf" }), "application/pdf", { blob: "AQID" }],
    [
      "its address",
      new URL("https://example.org/plan.pdf"),
      "application/vnd.a2c.dpe-uri+json",
      { text: '{"uri":"https://example.org/plan.pdf"}' }
    ],
    ["JSON", { title: "Plan" }, "application/vnd.a2c.dpe-inline+json", { text: '{"title":"Plan"}' }]
  ] as ReadonlyArray<readonly [string, string | Blob | URL | { title: string }, string, object]>)(
    "reads a document from %s",
    ([, value, mimeType, body]) =>
      Effect.gen(function* () {
        const { session } = yield* makeFunctions({ documents: [{ name: "plan.pdf", read: () => value }] })
        const uri = "dpe://functions/plan.pdf"
        assert.deepStrictEqual<unknown>(yield* session.readResource(uri), [{ uri, mimeType, ...body }])
      })
  )

  it.effect("lists what the search of documents needs", () =>
    Effect.gen(function* () {
      const { session } = yield* makeFunctions({
        documents: [
          { name: "q3.pdf", title: "Plan", description: "For autumn", pages: 2, keywords: ["tea"], read: () => "" }
        ]
      })
      assert.deepStrictEqual((yield* session.listResources()).items, [
        {
          uri: "dpe://functions/q3.pdf",
          name: "Plan",
          description: "For autumn",
          _meta: { page_count: 2, keywords: ["tea"], file_type: "pdf" }
        }
      ])
    })
  )

  it.effect("fails to read where its function throws", () =>
    Effect.gen(function* () {
      const read = () => Promise.reject(new Error("offline"))
      const { session } = yield* makeFunctions({ documents: [{ name: "plan", read }] })
      const { message } = yield* Effect.flip(session.readResource("dpe://functions/plan"))
      assert.strictEqual(message, "dpe://functions/plan cannot be read: offline")
    })
  )
})
