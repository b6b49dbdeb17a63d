import { setImmediate as turn } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js"
import { Effect, Fiber, Layer, Logger, Stream } from "effect"
import * as McpClient from "../../../../../src/adapters/mcp/client/McpClient.ts"
import { makeStdioTransport } from "../../../../../src/adapters/mcp/client/stdio/StdioTransport.ts"
import { McpConnector } from "../../../../../src/application/ports/McpSession.ts"
import { checkJsonBody } from "../../../../../src/domain/json.ts"
import { honestMessage } from "../../../../fuzz/live/mcpPeer.ts"
import { failedResponses, repairedResponses, withId } from "../oddResponses.ts"
import { layerOf } from "./childrenInMemory.ts"

const parameters = {
  command: "x",
  args: ["peer"],
  env: null,
  cwd: null,
  encoding: "utf-8",
  encodingErrorHandler: "strict"
} as const

interface Received {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly [name: string]: unknown }
}

/** So deep that it can be parsed but not serialized, for every stack size. */
const levels = 200_000
const tooDeep = "[".repeat(levels) + "]".repeat(levels)

/** Child processes of a server that gets each message, and prints. */
const makeServer = (receive: (message: Received, print: (text: string | Buffer) => void) => unknown) => {
  let write: (bytes: Uint8Array) => void = () => undefined
  const print = (text: string | Buffer) => write(Buffer.from(text))
  const children = layerOf(() => ({
    started: (to) => {
      write = to
    },
    received: (bytes) => void receive(JSON.parse(Buffer.from(bytes).toString()) as Received, print)
  }))
  return { children, print }
}

const openAt = ({ children }: Pick<ReturnType<typeof makeServer>, "children">) =>
  McpConnector.use(({ connect }) => connect("peer", { type: "stdio", ...parameters })).pipe(
    Effect.provide(Layer.provide(McpClient.layer, children))
  )

/** The response of a correct server. */
const honest = (id: number, method: string, params = {}) => honestMessage("peer", id, method, params)

/** A session with a server that replaces its responses to this method. */
const open = (replaced: string, instead: (id: number) => string | Buffer) =>
  openAt(
    makeServer(({ id, method, params }, print) => {
      if (id === undefined) return
      print(method === replaced ? instead(id) : honest(id, method, params))
      print("\n")
    })
  )

/** A session with a server that replies to the handshake alone as it should, and otherwise with this result. */
const openWithResult = (result: string) =>
  openAt(
    makeServer(({ id, method }, print) => {
      if (id === undefined) return
      print(method === "initialize" ? honest(id, method) : `{"jsonrpc":"2.0","id":${id},"result":${result}}`)
      print("\n")
    })
  )

describe("stdio server", () => {
  it.live("reports progress that arrives together with the response", () =>
    Effect.gen(function* () {
      const progress = (id: number, step: number) =>
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},"progress":${step}}}\n`
      const session = yield* open("tools/call", (id) => progress(id, 1) + progress(id, 2) + honest(id, "tools/call"))
      const seen: Array<number> = []
      yield* session.callTool("ask-peer", {}, { onProgress: (step) => Effect.sync(() => seen.push(step.progress)) })
      assert.deepStrictEqual(seen, [1, 2])
    })
  )
})

describe("odd response over stdio", () => {
  const callOnce = (text: string) =>
    Effect.scoped(
      Effect.gen(function* () {
        const session = yield* open("tools/call", (id) => withId(text, id))
        return yield* session.callTool("x", {})
      })
    )

  it.live.each(repairedResponses)("gives the result of a response with $title", ({ text }) =>
    Effect.map(callOnce(text), (result) => assert.property(result, "content"))
  )

  it.live.each(failedResponses)("fails the call at once after $title", (odd) =>
    Effect.map(Effect.flip(callOnce(odd.text)), ({ message, reason }) => {
      assert.strictEqual(reason, "protocol")
      assert.include(message, odd.reason)
    })
  )

  const content = '"content": [{"type": "text", "text": "done"}]'
  const message = JSON.stringify(
    {
      jsonrpc: "2.0",
      id: -1,
      result: { content: [{ type: "text", text: `a "}" \\` }], data: { a: [], b: {}, c: [3] } }
    },
    undefined,
    2
  ).replace("-1", "{id}")

  it.live.each([
    ["indented lines", message],
    ["indented lines with carriage returns", message.replaceAll("\n", "\r\n")],
    ["lines without indentation", message.replaceAll(/\n +/g, "\n")],
    ["blank lines between", message.replaceAll("\n", "\n\n")],
    ["a batch of lines", `[\n${message}\n]`],
    ["a list that opens on its line", `[${message}]`],
    ["a first line with its id", `{"jsonrpc": "2.0", "id": {id}, "result": {\n${content}\n}}`],
    ["a log that begins like a message before it", `{ starting\n${message}`],
    ["a list of logs before it", `[info] up\n[\n1,\n${message}`],
    ["a log object before it", `{\n  a: 1,\n  b: {\n  }\n}\n${message}`],
    ["a log object of JSON before it", `{\n  "level": "info"\n}\n${message}`],
    ["another message that is cut before it", `{\n  "jsonrpc": "2.0",\n  "method": "x",\n${message}`],
    [
      "a message on one line after one that is cut",
      `{\n"jsonrpc": "2.0",\n{"jsonrpc":"2.0","id":{id},"result":{${content}}}`
    ]
  ])("gives the result of a response over several lines, with %s", ([, text = ""]) =>
    Effect.map(callOnce(text), (result) => assert.property(result, "content"))
  )

  it.live.each([
    ["a number that JSON lacks", `{\n"jsonrpc": "2.0",\n"id": {id},\n"result": {\n"x": NaN\n}\n}`],
    ["a text that is not closed", `{"jsonrpc": "2.0", "id": {id}, "result": {"text": "a\nb"}}`],
    ["another message before its end", `{\n"jsonrpc": "2.0",\n"id": {id},\n{"jsonrpc":"2.0","method":"x"}`]
  ])("fails the call at once after a response over several lines with %s", ([, text = ""]) =>
    Effect.map(Effect.flip(callOnce(text)), ({ message, reason }) => {
      assert.strictEqual(reason, "protocol")
      assert.include(message, "cannot be decoded")
    })
  )

  describe("without a newline", () => {
    const whole = `{"jsonrpc":"2.0","id":{id},"result":{${content}}}`
    const listening = (answer: (id: number, print: (text: string) => void) => unknown) =>
      Effect.scoped(
        Effect.flatMap(
          openAt(
            makeServer(({ id, method }, print) => {
              if (id === undefined) return undefined
              return method === "tools/call" ? answer(id, print) : print(`${honest(id, method)}\n`)
            })
          ),
          (session) => session.callTool("x", {})
        )
      )

    it.live.each([
      ["one piece", whole, /$/],
      ["pieces that end like JSON", whole, /(?<=[}\]])/],
      ["single characters", whole, /(?=.)/],
      ["a batch", `[${whole}]`, /$/],
      ["a message before it", `{"jsonrpc":"2.0","method":"x"}${whole}`, /(?<="x"})/],
      ["a line before it", `hello\n${whole}`, /$/],
      ["a blank before it", ` ${whole}`, /(?<=^ )/],
      ["several lines", message, /$/],
      ["several lines in pieces", message, /(?="result")/],
      ["several lines in single characters", message, /(?=[^])/]
    ] as ReadonlyArray<readonly [string, string, RegExp]>)(
      "gives the result of a response in %s",
      ([, text, between]) =>
        Effect.map(
          listening((id, write) =>
            withId(text, id)
              .split(between)
              .forEach((piece) => write(piece))
          ),
          (result) => assert.property(result, "content")
        )
    )

    it.live.each([
      ["a log in brackets", ["[info]", ` up\n${whole}`]],
      ["an object", ['{"a":1}', ` logged\n${whole}\n`]],
      ["a text in the middle of a message", [whole.slice(0, -2), "}", "}\n"]]
    ] as const)("is not taken for a message after %s", ([, pieces]) =>
      Effect.map(
        listening((id, write) => {
          for (const piece of pieces) write(withId(piece, id))
        }),
        (result) => assert.property(result, "content")
      )
    )
  })

  it.live.each([
    ...["[]", "null", '"pong"', "7"].map((result) => `"result":${result}`),
    '"error":{"code":-32000,"message":"Connection closed"}'
  ])("takes the response %s for an answer to a ping", (members) =>
    Effect.gen(function* () {
      const session = yield* open("ping", (id) => `{"jsonrpc":"2.0","id":${id},${members}}`)
      // An error of the protocol is a response.
      assert.strictEqual((yield* Effect.flip(session.ping)).reason, "protocol")
    })
  )

  it.live.each(["null", "[]", '{"_meta":null}', '"x"'])(
    "delivers a request of the server with the parameters %s",
    (params) =>
      Effect.gen(function* () {
        const { children, print } = makeServer(() => undefined)
        const { transport } = yield* makeStdioTransport("peer", parameters).pipe(Effect.provide(children))
        const delivered = Promise.withResolvers<unknown>()
        transport.onmessage = delivered.resolve
        yield* Effect.promise(() => transport.start())
        print(`{"jsonrpc":"2.0","id":"a","method":"ping","params":${params}}\n`)
        const message = JSONRPCMessageSchema.parse(yield* Effect.promise(() => delivered.promise))
        assert.strictEqual("id" in message && message.id, "a")
      })
  )

  it.live("subscribes when the result is null", () =>
    Effect.gen(function* () {
      const session = yield* open("resources/subscribe", (id) => `{"jsonrpc":"2.0","id":${id},"result":null}`)
      yield* Effect.asVoid(session.watch({ tools: false, resources: false, uris: ["window://peer/main"] }))
    })
  )

  it.live.each([
    '{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":null}',
    '[{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":null}}]',
    '{"id":null,"method":"notifications/tools/list_changed","params":[]}'
  ])("keeps the notification %s", (text) =>
    Effect.gen(function* () {
      const session = yield* open("ping", (id) => `${text}\n${honest(id, "ping")}`)
      const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
      const change = yield* Effect.forkChild(Stream.runHead(changes))
      yield* session.ping
      assert.strictEqual((yield* Fiber.join(change))._tag, "Some")
    })
  )

  it.live.each([
    ["odd members", '"progress":2,"total":"3","message":7', [2]],
    ["a null total", '"progress":2,"total":null,"message":null', [2]],
    ["no progress", '"total":3', []]
  ] as ReadonlyArray<readonly [string, string, ReadonlyArray<number>]>)(
    "reports what is usable of progress with %s",
    ([, members, expected]) =>
      Effect.gen(function* () {
        const progress = (id: number) =>
          `{"method":"notifications/progress","params":{"progressToken":"${id}",${members}}}\n`
        const session = yield* open("tools/call", (id) => progress(id) + honest(id, "tools/call"))
        const seen: Array<number> = []
        yield* session.callTool("x", {}, { onProgress: (step) => Effect.sync(() => seen.push(step.progress)) })
        assert.deepStrictEqual(seen, expected)
      })
  )
})

describe("malicious stdio server", () => {
  it.live.each([
    ["a deeply nested response to an unknown request", `{"jsonrpc":"2.0","id":424242,"result":{"a":${tooDeep}}}`],
    ...['"a\u0001b"', "007"].map((id) => [
      `an undecodable response to ${JSON.stringify(id)}`,
      `{"jsonrpc":"2.0","id":${id},"result":{"a":"\u0080"}}`
    ])
  ])("survives %s", ([, line = ""]) =>
    Effect.gen(function* () {
      const session = yield* open("tools/call", (id) =>
        Buffer.concat([Buffer.from(`${line}\n`, "latin1"), Buffer.from(honest(id, "tools/call"))])
      )
      assert.property(yield* session.callTool("ask-peer", {}), "content")
    })
  )

  it.live("omits items that cannot be encoded from listings, and such parts from contents", () =>
    Effect.gen(function* () {
      const bad = [`{"name":"deep","uri":"x:y","a":${tooDeep}}`, '{"name":"proto","a":{"__proto__":1}}', "1"]
      const listed = (name: string) => `"${name}":[${bad.join()},{"name":"good","uri":"x:y"}]`
      const session = yield* openWithResult(`{${["tools", "resources", "contents"].map(listed).join()}}`)
      const good = [{ name: "good", uri: "x:y" }]
      assert.deepStrictEqual((yield* session.listTools()).items, good)
      assert.deepStrictEqual((yield* session.listResources()).items, good)
      const [deep, ...others] = yield* session.readResource("x:y")
      assert.isUndefined(checkJsonBody([[[[deep]]]]))
      assert.deepInclude(deep, { name: "deep", uri: "x:y" })
      assert.deepStrictEqual(others, [{ name: "proto", a: {} }, {}, ...good])
    })
  )

  it.live.each([
    ['{"a":{"name":"a","uri":"x:a"},"b":{"name":"b","uri":"x:b"}}', ["a", "b"], false],
    ['{"0":{"name":"a","uri":"x:a"},"2":{"name":"c","uri":"x:c"}}', ["a", "c"], false],
    ["{}", [], false],
    ["[]", [], false],
    ['{"name":"a","inputSchema":{}}', [], true],
    ['"a"', [], true],
    ["null", [], true]
  ] as const)("reads the items of the listing %s", ([listed, names, isIgnored]) =>
    Effect.gen(function* () {
      const ignored: Array<unknown> = []
      const logger = Logger.make(({ message }) => {
        const [text, facts] = [message].flat()
        if (text === "listing ignored: not a list") ignored.push(facts)
      })
      const session = yield* openWithResult(`{"tools":${listed},"resources":${listed}}`)
      const { listResources, listTools } = session
      const listings = yield* Effect.provide(Effect.all([listTools(), listResources()]), Logger.layer([logger]))
      for (const { items } of listings)
        assert.deepStrictEqual(
          items.map(({ name }) => name),
          [...names]
        )
      assert.deepStrictEqual(ignored, isIgnored ? [{ list: "tools" }, { list: "resources" }] : [])
    })
  )

  it.live.each([
    ['{"contents":{"uri":"x:y","text":"a"}}', [{ uri: "x:y", text: "a" }]],
    ['{"contents":[null,"a"]}', [{}, {}]],
    ["{}", "the response has no contents"],
    ['{"contents":null}', "the response has no contents"],
    ['{"contents":"a"}', "the response has no contents"]
  ] as const)("reads the contents of %s", ([result, expected]) =>
    Effect.gen(function* () {
      const session = yield* openWithResult(result)
      const contents = yield* Effect.match(session.readResource("x:y"), {
        onSuccess: (read): unknown => read,
        onFailure: ({ message }) => message
      })
      assert.deepStrictEqual(contents, expected)
    })
  )

  it.live("applies backpressure to a server that does not read responses", () =>
    Effect.gen(function* () {
      const requestCount = 5000
      const reads = Promise.withResolvers<void>()
      let write: (bytes: Uint8Array) => void = () => undefined
      let received = 0
      const children = layerOf(() => ({
        started: (to) => {
          write = to
        },
        received: async (bytes) => {
          await reads.promise
          received += Buffer.from(bytes).toString().trimEnd().split("\n").length
        }
      }))
      const { transport } = yield* makeStdioTransport("peer", parameters).pipe(Effect.provide(children))
      let taken = 0
      transport.onmessage = (message) => {
        taken += 1
        if ("id" in message && message.id !== undefined) {
          void transport.send({ jsonrpc: "2.0", id: message.id, result: {} })
        }
      }
      yield* Effect.promise(() => transport.start())
      write(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}\n'.repeat(requestCount)))
      // Long enough for all requests without backpressure.
      yield* Effect.promise(async () => {
        for (let turns = 0; turns < requestCount; turns += 1) await turn()
      })
      assert.isAbove(taken, 1)
      assert.isBelow(taken, 200)
      reads.resolve()
      yield* Effect.promise(async () => {
        while (received < requestCount) await turn()
      })
      assert.strictEqual(taken, requestCount)
    })
  )
})
