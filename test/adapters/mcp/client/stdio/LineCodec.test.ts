import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { makeLineCodec } from "../../../../../src/adapters/mcp/client/stdio/LineCodec.ts"
import * as McpClient from "../../../../../src/adapters/mcp/client/McpClient.ts"
import { McpConnector } from "../../../../../src/application/ports/McpSession.ts"
import type { StdioParameters } from "../../../../../src/domain/config/endpointParameters.ts"

const server = fileURLToPath(new URL("../../../../fixtures/encodingServer.ts", import.meta.url))
const Live = McpClient.layer.pipe(Layer.provide(NodeServices.layer))

type ErrorHandler = StdioParameters["encodingErrorHandler"]

/** A session with a server that uses the encoding `args[0]`, configured as `encoding`. */
const open = (encoding: string, encodingErrorHandler: ErrorHandler, ...args: ReadonlyArray<string>) =>
  McpConnector.use(({ connect }) =>
    connect("s", {
      type: "stdio",
      command: process.execPath,
      args: [server, ...args],
      env: null,
      cwd: null,
      encoding,
      encodingErrorHandler
    })
  )

const call = (
  encoding: string,
  encodingErrorHandler: ErrorHandler,
  args: ReadonlyArray<string>,
  params: { readonly [name: string]: string } = {}
) =>
  open(encoding, encodingErrorHandler, ...args).pipe(
    Effect.flatMap(({ callTool }) => callTool("t", params)),
    Effect.map(({ content }) => (content as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text)),
    Effect.scoped,
    Effect.provide(Live)
  )

/** The configured encoding, the encoding of the server, its bytes, and their text. */
const peers: ReadonlyArray<readonly [string, ReadonlyArray<string>, string]> = [
  ["utf_8", ["utf-8", "c3a9e99bbbf09f9880"], "é電😀"],
  ["utf-8-sig", ["utf-8", "e99bbb", "efbbbf"], "電"],
  ["latin-1", ["latin1", "e985"], "é\u0085"],
  ["cp1252", ["windows-1252", "80e9"], "€é"],
  ["gb18030", ["gb18030", "c4e39439fc36"], "你😀"],
  ["shift_jis", ["shift_jis", "93fa967b"], "日本"],
  ["euc_jp", ["euc-jp", "c6fc"], "日"],
  ["utf-16", ["utf-16le", "0a4e3dd800de"], "上😀"],
  ["utf-16-le", ["utf-16le", "410a0a0a3dd800de"], "ੁਊ😀"],
  ["UTF_16_BE", ["utf-16be", "0a410a0ad83dde00"], "ੁਊ😀"],
  ["utf16", ["utf-16", "0a41", "feff"], "ੁ"]
]

describe("LineCodec encoding", () => {
  for (const [encoding, args, meaning] of peers) {
    it.live(`decodes and encodes ${encoding}`, () =>
      Effect.gen(function* () {
        const params = { text: 'é電😀\n"\\' }
        const [printed, got] = yield* call(encoding, "strict", args, params)
        assert.strictEqual(printed, meaning)
        assert.deepStrictEqual(JSON.parse(got ?? ""), params)
      })
    )
  }

  it.live("reports an unknown encoding before the process starts", () =>
    Effect.gen(function* () {
      const { reason, message } = yield* Effect.flip(open("utf-7½", "strict", "utf-8"))
      assert.strictEqual(reason, "unavailable")
      assert.include(message, 'unknown encoding "utf-7½"')
    }).pipe(Effect.scoped, Effect.provide(Live))
  )
})

describe("LineCodec error handler", () => {
  const faulty = ["utf-8", "61ffefbfbdc362"]

  it.live("fails the request and keeps the session with strict", () =>
    Effect.gen(function* () {
      const session = yield* open("utf-8", "strict", ...faulty)
      assert.include((yield* Effect.flip(session.callTool("t", {}))).message, "invalid utf-8")
      assert.strictEqual((yield* session.listTools()).items.length, 1)
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

  it.live("ignores an undecodable request of the server with strict", () =>
    Effect.gen(function* () {
      const theirs = Buffer.from('{"id":0,"jsonrpc":"2.0","method":"\u00ff"}\n', "latin1").toString("hex")
      const session = yield* open("utf-8", "strict", "utf-8", "61", theirs)
      assert.strictEqual(session.info.name, "utf-8")
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

  it.live("drops invalid bytes and keeps an encoded U+FFFD with ignore", () =>
    Effect.map(call("utf-8", "ignore", faulty), ([printed]) => assert.strictEqual(printed, "a\u{fffd}b"))
  )

  it.live("replaces each invalid byte by U+FFFD with replace", () =>
    Effect.map(call("utf-8", "replace", faulty), ([printed]) =>
      assert.strictEqual(printed, "a\u{fffd}\u{fffd}\u{fffd}b")
    )
  )

  const read = (encoding: string, handler: ErrorHandler, hex: string) =>
    Result.flatMap(makeLineCodec(encoding, handler), ({ decode }) => decode(Buffer.from(hex, "hex")))

  it("drops half a surrogate pair and keeps an encoded U+FFFD in UTF-16", () => {
    assert.deepStrictEqual(read("utf-16le", "ignore", "6100fdff3dd86200"), Result.succeed("a\u{fffd}b"))
    assert.deepStrictEqual(read("utf-16be", "ignore", "0061fffdd83d0062"), Result.succeed("a\u{fffd}b"))
  })

  it("treats other bytes as invalid in ASCII", () => {
    assert.isTrue(Result.isFailure(read("ascii", "strict", "61e9")))
    assert.deepStrictEqual(read("us-ascii", "ignore", "61e962"), Result.succeed("ab"))
    assert.deepStrictEqual(read("646", "replace", "61e9"), Result.succeed("a\u{fffd}"))
  })
})
