import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Schedule, Scope } from "effect"
import * as NodeLoader from "../../../src/adapters/packs/NodePackLoader.ts"
import type { PackError } from "../../../src/application/ports/packs/PackLoader.ts"
import type { InputResponder, McpProgress } from "../../../src/application/ports/McpSession.ts"
import { callOf, packSource, fixture, load, loadText, sourceOf, write } from "./packs.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

const text = (value: string) => ({ content: [{ type: "text", text: value }] })

/** Content of a file once it contains a text. */
const eventually = (file: string, wanted: string) =>
  Effect.try(() => readFileSync(file, "utf8")).pipe(
    Effect.filterOrFail((content) => content.includes(wanted)),
    Effect.retry(Schedule.spaced("10 millis")),
    Effect.timeout("30 seconds"),
    Effect.orDie
  )

const modes = [
  ["pack in the host's thread", false],
  ["pack in a separate process", true]
] as const

for (const [where, isolated] of modes) {
  layer(NodeLoader.layer, { excludeTestServices: true })(where, (it) => {
    const textCounter = load(fixture("text_counter", "text_counter_tool.ts", "TextCounterTool", { isolated }))

    /** A pack of Effects, the file to which it writes, and a call of it. */
    const effectful = Effect.gen(function* () {
      const trace = join(yield* temporaryFolder, "trace")
      const { call } = yield* load(
        fixture("effectful", "effectful_tool.ts", "EffectfulTool", { isolated, config: { trace } })
      )
      return { trace, call, get: (what: string) => call(callOf("effectful", { what })) }
    })

    describe("valid pack", () => {
      it.effect("loads a TypeScript class", () =>
        Effect.gen(function* () {
          const { manifest } = yield* textCounter
          const params = {
            type: "object",
            properties: { text: { type: "string", description: "the text to count" } },
            required: ["text"],
            additionalProperties: true
          }
          assert.deepStrictEqual(manifest, {
            routes: [{ endpoint: "/tools/text_counter", tool: "text_counter", useForm: false, params, files: {} }],
            tools: [{ name: "text_counter", description: "Counts characters and words", inputSchema: params }],
            warnings: []
          })
        })
      )

      it.effect("calls a TypeScript class", () =>
        Effect.gen(function* () {
          const { call } = yield* textCounter
          assert.deepStrictEqual(
            yield* call(callOf("text_counter", { text: "héllo wörld 😀" })),
            text("text_counter: 13 characters, 3 words")
          )
          const { reason, problems } = yield* Effect.flip(call(callOf("text_counter", { text: "!" })))
          assert.deepStrictEqual(
            [reason, problems],
            ["invalid_params", [{ loc: ["body", "text"], msg: "is too loud", type: "value_error" }]]
          )
        })
      )

      it.effect("rejects invalid parameters before the tool runs", () =>
        Effect.gen(function* () {
          const { call } = yield* textCounter
          const { reason, message, problems } = yield* Effect.flip(call(callOf("text_counter", {})))
          assert.deepStrictEqual([reason, message], ["invalid_params", "text: Field required"])
          assert.deepStrictEqual(problems, [{ loc: ["body", "text"], msg: "Field required", type: "missing" }])
        })
      )

      it.effect("rejects integers that JSON numbers round", () =>
        Effect.gen(function* () {
          const { call } = yield* textCounter
          const large = callOf("text_counter", { text: "a", more: [2 ** 60] })
          const { reason, message } = yield* Effect.flip(call(large))
          assert.strictEqual(reason, "invalid_params")
          assert.match(message, /^\/more\/0: integers beyond .*: pass them as text$/)
        })
      )

      it.effect("passes files and form fields to a defined tool", () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          yield* write(folder, { a: "abc", b: "" })
          const { call, manifest } = yield* load(
            fixture("file_analyzer", "file_analyzer_tool.ts", "FileAnalyzerTool", { isolated })
          )
          const [route] = manifest.routes
          assert.deepStrictEqual(route?.files, { file: { multiple: false }, others: { multiple: true } })
          assert.isTrue(route?.useForm)
          assert.strictEqual(route?.endpoint, "/tools/file_analyzer")
          assert.deepInclude(manifest.tools[0], {
            title: "File analyzer",
            annotations: { readOnlyHint: true }
          })
          const upload = (name: string, size: number) => ({
            filename: `${name}.txt`,
            contentType: "text/plain",
            size,
            path: join(folder, name)
          })
          const files = { file: [upload("a", 3)], others: [upload("b", 0)], stray: [upload("b", 0)] }
          assert.deepStrictEqual(
            yield* call(callOf("file_analyzer", { level: "4" }, { form: true, files })),
            text("a.txt+b.txt text/plain 3 3 abc 5")
          )
          const two = { file: [upload("a", 3), upload("b", 0)] }
          const { message } = yield* Effect.flip(call(callOf("file_analyzer", {}, { form: true, files: two })))
          assert.strictEqual(message, "file: one file is expected, not 2")
          const other = yield* Effect.flip(call(callOf("file_analyzer", { file: "abc" })))
          assert.match(other.message, /^file: a file is expected: a data URL/)
        })
      )

      it.effect("loads a class with the names of Automata and zod parameters", () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          yield* write(folder, { note: "pst", long: "psst!" })
          const { call, manifest } = yield* load(fixture("shout", "shout_tool.mjs", "ShoutTool", { isolated }))
          assert.deepStrictEqual(manifest.routes[0]?.files, { note: { multiple: false } })
          assert.deepStrictEqual(manifest.warnings, [])
          const note = (name: string) => ({
            note: [{ filename: name, contentType: "text/plain", size: 3, path: join(folder, name) }]
          })
          const shout = (args: { readonly [name: string]: string }, name = "note") =>
            call(callOf("shout", args, { form: true, files: note(name) }))
          assert.deepStrictEqual(yield* shout({ text: "hey", times: "2" }), {
            content: [{ type: "text", text: '{"shout":"HEYHEY","note":"pst"}' }],
            structuredContent: { shout: "HEYHEY", note: "pst" }
          })
          const { problems } = yield* Effect.flip(shout({ text: "h" }, "long"))
          assert.deepStrictEqual(
            problems?.map(({ loc }) => loc),
            [
              ["body", "text"],
              ["body", "note"]
            ]
          )
        })
      )

      it.effect("loads a CommonJS class with JSON Schema", () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          yield* write(folder, { a: "a" })
          const { call } = yield* load(fixture("old_style", "old_style_tool.js", "OldStyleTool", { isolated }))
          const files = { file: [{ filename: "a", contentType: "", size: 1, path: join(folder, "a") }] }
          const form = (args: { readonly [name: string]: string }) => call(callOf("old", args, { form: true, files }))
          assert.deepStrictEqual((yield* form({ flag: "yes" }))["structuredContent"], {
            flag: true,
            count: 3,
            file: "a"
          })
          const { problems } = yield* Effect.flip(form({ count: "0", more: "x" }))
          assert.deepStrictEqual(problems?.map(({ loc, type }) => [loc.join("."), type]).toSorted(), [
            ["body.count", "greater_than_equal"],
            ["body.flag", "missing"],
            ["body.more", "extra_forbidden"]
          ])
        })
      )

      it.effect("rejects an argument that cannot be checked, and validates the next one", () =>
        Effect.gen(function* () {
          const params = `{ type: "object", properties: { name: { type: "string", pattern: "^a+b+c+$" } } }`
          const routes = `() { return { endpoint: "/tools/pack", params: ${params} } }`
          const { call } = yield* loadText(packSource({ routes }), { isolated })
          const { reason, problems } = yield* Effect.flip(call(callOf("pack", { name: "a".repeat(1000) })))
          assert.strictEqual(reason, "invalid_params")
          const msg = 'a text of 1000 characters is too long for the pattern "^a+b+c+$"'
          assert.deepStrictEqual(problems, [{ loc: ["body"], msg, type: "value_error" }])
          assert.deepStrictEqual(yield* call(callOf("pack", { name: "abc" })), {
            content: [{ type: "text", text: "called" }]
          })
        })
      )

      it.effect("converts every kind of result to an MCP result", () =>
        Effect.gen(function* () {
          const { get } = yield* effectful
          assert.deepStrictEqual(yield* get("nothing"), { content: [] })
          assert.deepStrictEqual(yield* get("image"), {
            content: [{ type: "image", data: "AA==", mimeType: "image/png" }]
          })
          assert.deepStrictEqual(yield* get("number"), { ...text("7"), structuredContent: { result: 7 } })
          assert.deepStrictEqual(yield* get("whole"), { ...text("no"), isError: true, _meta: { a: 1 } })
          const { reason, message } = yield* Effect.flip(get("bigint"))
          assert.deepStrictEqual(
            [reason, message],
            ["failed", "the result is not JSON: Do not know how to serialize a BigInt"]
          )
        })
      )

      it.effect("converts failures of Effects like exceptions", () =>
        Effect.gen(function* () {
          const { call, get } = yield* effectful
          for (const [what, expectedReason, expectedMessage] of [
            ["refuse", "invalid_params", "not like this"],
            ["fail", "failed", "it cannot be done"],
            ["die", "failed", "the bug"]
          ] as const) {
            const { message, reason } = yield* Effect.flip(get(what))
            assert.deepStrictEqual<unknown>([reason, message], [expectedReason, expectedMessage])
          }
          const { reason } = yield* Effect.flip(call(callOf("other", {})))
          assert.strictEqual(reason, "unknown_tool")
        })
      )

      const asking = packSource({
        call: `(name, args, { ask, requester }) {
          return ask({ message: requester, schema: {} }).then(({ action, content }) => action + " " + content?.answer)
        }`
      })
      const responder: InputResponder = {
        modes: ["form"],
        answer: ({ message }) => Effect.succeed({ action: "accept", content: { answer: `for ${message}` } })
      }
      it.effect.each([
        [{ requester: "thinker", responder }, "accept for thinker"],
        [{}, "decline undefined"]
      ] as const)("asks the user of a call, and names its caller: %#", ([options, answer]) =>
        Effect.gen(function* () {
          const { call } = yield* loadText(asking, { isolated })
          assert.deepStrictEqual(yield* call(callOf("pack", {}), options), text(answer))
        })
      )

      it.effect("ends the open question of a cancelled call", () =>
        Effect.gen(function* () {
          const asked = yield* Deferred.make<void>()
          const closed = yield* Deferred.make<void>()
          const answer = () =>
            Deferred.succeed(asked, undefined).pipe(
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Deferred.succeed(closed, undefined))
            )
          const { call } = yield* loadText(asking, { isolated })
          const options = { responder: { ...responder, answer } }
          const calling = yield* Effect.forkChild(call(callOf("pack", {}), options))
          yield* Deferred.await(asked)
          yield* Fiber.interrupt(calling)
          yield* Deferred.await(closed)
        })
      )

      it.effect("delivers progress in order and before the result, and logs lines", () =>
        Effect.gen(function* () {
          const received: Array<string> = []
          const lines: Array<unknown> = []
          const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
          yield* Effect.gen(function* () {
            const { call } = yield* effectful
            const onProgress = ({ message = "" }: McpProgress) =>
              Effect.delay(
                Effect.sync(() => void received.push(message)),
                "5 millis"
              )
            const result = yield* call(callOf("effectful", { what: "report" }), { onProgress })
            assert.deepStrictEqual(result, text("reported"))
          }).pipe(Effect.provide(Logger.layer([logger])))
          assert.deepStrictEqual(received, ["step 1", "step 2", "step 3"])
          assert.deepStrictEqual(lines.flat(), ["reported"])
        })
      )

      it.effect("aborts the signal and the Effect of a cancelled call, and keeps running", () =>
        Effect.gen(function* () {
          const { get, trace } = yield* effectful
          const waiting = yield* Effect.forkChild(get("wait"), { startImmediately: true })
          yield* eventually(trace, "waiting")
          yield* Fiber.interrupt(waiting)
          yield* eventually(trace, "aborted")
          yield* eventually(trace, "interrupted")
          assert.deepStrictEqual(yield* get("nothing"), { content: [] })
        })
      )

      it.effect("disposes of the pack with its scope", () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          const trace = join(folder, "trace")
          const scope = yield* Scope.make()
          const { call } = yield* Scope.provide(
            load(fixture("effectful", "effectful_tool.ts", "EffectfulTool", { isolated, config: { trace } })),
            scope
          )
          yield* call(callOf("effectful", { what: "nothing" }))
          yield* Scope.close(scope, Exit.void)
          assert.strictEqual(readFileSync(trace, "utf8"), "disposed\n")
        })
      )

      it.effect("resolves shared packages outside any project, and reloads the pack's files", () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          const source = sourceOf(folder, "a_tool.ts", { isolated })
          const call = Effect.flatMap(load(source), ({ call: run }) => run(callOf("a", {})))
          yield* write(folder, {
            "a_tool.ts": `import { defineTool } from "a2c-smcp/tools"
              import { Effect } from "effect"
              import { z } from "zod"
              import { word } from "./lib/word.ts"
              import data from "./data.json" with { type: "json" }
              export default defineTool({
                name: "a", description: "A", params: z.object({}), run: () => Effect.succeed(word + data)
              })`,
            "lib/word.ts": "export const word: string = 'one'",
            "data.json": "1"
          })
          assert.deepStrictEqual(yield* Effect.scoped(call), text("one1"))
          yield* write(folder, { "lib/word.ts": "export const word: string = 'two'", "data.json": "2" })
          assert.deepStrictEqual(yield* Effect.scoped(call), text("two2"))
        })
      )

      it.effect("reloads CommonJS files", () =>
        Effect.gen(function* () {
          const folder = yield* temporaryFolder
          const call = Effect.flatMap(load(sourceOf(folder, "a_tool.js", { isolated })), ({ call: run }) =>
            run(callOf("pack", {}))
          )
          yield* write(folder, {
            "a_tool.js": `const { word } = require("./word.js")\n${packSource({ call: "() { return word }" }).replace("export class T", "exports.T = class")}`,
            "word.js": "exports.word = 'one'"
          })
          assert.deepStrictEqual(yield* Effect.scoped(call), text("one"))
          yield* write(folder, { "word.js": "exports.word = 'two'" })
          assert.deepStrictEqual(yield* Effect.scoped(call), text("two"))
        })
      )
    })

    describe("unusable pack", () => {
      const cases: ReadonlyArray<readonly [what: string, text: string, expected: RegExp, file?: string]> = [
        ["throws at import", "throw new Error('no import')", /^loading failed: no import$/],
        [
          "has a class with another name",
          packSource().replace("class T", "class TextTool"),
          /^class 'T' not found: the module exports 'TextTool'/
        ],
        ["exports nothing", "const a = 1", /the module exports nothing/],
        [
          "lacks a method",
          packSource().replace("listTools", "listTool"),
          /^T lacks listTools\(\) \(or list_tools\(\)\)$/
        ],
        [
          "throws in its constructor",
          packSource({ constructing: "throw new Error('no T')" }),
          /^the constructor of T failed: no T$/
        ],
        [
          "throws in getRouteConfig",
          packSource({ routes: "() { throw new Error('no routes') }" }),
          /^getRouteConfig\(\) failed: no routes$/
        ],
        [
          "rejects in listTools",
          packSource({ tools: "() { return Promise.reject(new Error('no tools')) }" }),
          /^listTools\(\) failed: no tools$/
        ],
        [
          "returns no list of tools",
          packSource({ tools: "() { return 1 }" }),
          /^listTools\(\) must return a list of tools/
        ],
        [
          "has an endpoint without a slash",
          packSource({
            routes: "() { return [{ endpoint: 'tools', params: {} }] }",
            tools: "() { return [] }"
          }),
          /^it has no tools: route 1 \(tools\): /
        ],
        [
          "makes an instance whose members throw",
          packSource({ constructing: "return { get getRouteConfig() { throw new Error('no member') } }" }),
          /^it cannot be read: no member$/
        ],
        [
          "lists a tool whose name throws",
          packSource({ tools: "() { return [{ get name() { throw new Error('no name') } }] }" }),
          /^its declaration cannot be read$/
        ],
        [
          "refers to its parameters by an invalid name",
          packSource({
            routes: "() { return { endpoint: '/tools/a', params: { $ref: '#/$defs/%ZZ', $defs: {} } } }"
          }),
          /^its declaration cannot be read$/
        ],
        [
          "throws an unreadable value",
          packSource({ routes: "() { throw { get message() { throw 1 } } }" }),
          /^getRouteConfig\(\) failed: an error that cannot be read$/
        ],
        [
          "has unsupported parameters",
          packSource({ routes: "() { return [{ endpoint: '/tools/a', params: 7 }] }" }),
          /^params of the route \/tools\/a: the parameters must be an Effect Schema/
        ],
        [
          "has parameters that are not an object",
          packSource({ routes: "() { return [{ endpoint: '/tools/a', params: { type: 'string' } }] }" }),
          /^params of the route \/tools\/a: the parameters must be an object, not "string"$/
        ],
        [
          "is TypeScript that needs a compiler",
          `enum A { B }\n${packSource()}`,
          /^loading failed: pack_tool\.ts:1: TypeScript enum is not supported.*: write it without them/
        ],
        ["is malformed TypeScript", "const = 1", /^loading failed: (pack_tool\.ts:1: )?/],
        [
          "is an ES module that Node takes as CommonJS",
          packSource(),
          /^loading failed: .*Unexpected token 'export'\. Node takes the file as CommonJS: name the file \.mts/,
          "pack_tool.cts"
        ],
        [
          "is malformed JavaScript",
          "let a = 1\nconst = 1",
          /^loading failed: in pack_tool.mjs, or what it imports: Unexpected token '='$/,
          "pack_tool.mjs"
        ],
        [
          "imports a missing package",
          `import "no-such-package"`,
          /^loading failed: Cannot find package 'no-such-package' .*Name it under 'packages' in config\.yaml$/
        ],
        ["imports a missing file", `import "./other.ts"`, /^loading failed: Cannot find module '.*other\.ts'/]
      ]
      // An isolated pack behaves the same; starting a process for each case would take long.
      for (const [what, code, expected, file] of isolated ? cases.slice(0, 2) : cases) {
        it.effect(`explains a pack that ${what}`, () =>
          Effect.gen(function* () {
            const { reason, message } = yield* Effect.flip(loadText(code, { isolated }, file))
            assert.strictEqual(reason, "unusable")
            assert.match(message, expected)
          })
        )
      }

      it.effect("warns about a contradictory declaration, and loads the rest", () =>
        Effect.gen(function* () {
          const { call, manifest } = yield* loadText(
            packSource({ tools: "() { return [{ name: 'other' }, { name: 'other' }, {}] }" }),
            { isolated }
          )
          assert.deepStrictEqual(manifest.warnings, [
            "listTools() lists 'other' twice; the first one is used",
            "tool 3 of listTools() has no 'name' and is ignored",
            "route /tools/pack calls the tool 'pack', which listTools() does not list: it is not available over MCP",
            "listTools() lists 'other', which no route calls: it is not available over HTTP"
          ])
          assert.deepStrictEqual(yield* call(callOf("other", { a: 1 })), text("called"))
          assert.deepStrictEqual(yield* call(callOf("pack", {})), text("called"))
        })
      )
    })

    describe("misbehaving pack", () => {
      it.effect("reports an exception of a call without its stack", () =>
        Effect.gen(function* () {
          const { call } = yield* loadText(
            packSource({ call: "() { throw new Error('oh no', { cause: new Error('secret') }) }" }),
            { isolated }
          )
          const { reason, message } = yield* Effect.flip(call(callOf("pack", {})))
          assert.deepStrictEqual([reason, message], ["failed", "oh no"])
        })
      )

      it.effect("survives thrown values and results that cannot be read", () =>
        Effect.gen(function* () {
          for (const [body, expected] of [
            ["throw { get code() { throw 1 }, message: 'no' }", "no"],
            ["throw new Proxy({}, { has() { throw 1 } })", "an error that cannot be read"],
            [
              "return { toJSON() { throw Object.create(null) } }",
              "the result is not JSON: an error without a readable message"
            ]
          ] as const) {
            const { call } = yield* loadText(packSource({ call: `() { ${body} }` }), { isolated })
            const { reason, message } = yield* Effect.flip(call(callOf("pack", {})))
            assert.deepStrictEqual([reason, message], ["failed", expected])
          }
        })
      )

      it.effect("abandons a call that never ends", () =>
        Effect.gen(function* () {
          const { call } = yield* loadText(packSource({ call: "() { return new Promise(() => {}) }" }), {
            isolated
          })
          const outcome = yield* Effect.timeoutOption(call(callOf("pack", {})), "50 millis")
          assert.strictEqual(outcome._tag, "None")
        })
      )

      it.effect("keeps calls running after an uncaught error", () =>
        Effect.gen(function* () {
          const lines: Array<unknown> = []
          const logger = Logger.make<unknown, void>(({ message }) => void lines.push(message))
          yield* Effect.gen(function* () {
            const { call } = yield* loadText(
              packSource({
                call: `() {
                  Promise.reject(new Error('forgotten'))
                  setTimeout(() => { throw new Error('too late') }, 1)
                  return new Promise((resolve) => setTimeout(resolve, 50, 'called'))
                }`
              }),
              { isolated }
            )
            assert.deepStrictEqual(yield* call(callOf("pack", {})), text("called"))
          }).pipe(Effect.provide(Logger.layer([logger])))
          assert.deepStrictEqual(lines.flat(), ["uncaught error: forgotten", "uncaught error: too late"])
        })
      )

      it.effect("closes after a failed dispose", () =>
        Effect.gen(function* () {
          const pack = loadText(packSource({ call: "() {}\n dispose() { throw new Error('no dispose') }" }), {
            isolated
          })
          const outcome = yield* Effect.exit(Effect.scoped(Effect.asVoid(pack)))
          assert.isTrue(Exit.isSuccess(outcome))
        })
      )
    })
  })
}

layer(NodeLoader.layer, { excludeTestServices: true })("isolated pack", (it) => {
  const exitOf = Effect.fnUntraced(function* (call: string, memory = 128) {
    const pack = yield* loadText(packSource({ call }), { isolated: true, memory })
    const failure = yield* Effect.flip(pack.call(callOf("pack", {})))
    return {
      failure,
      reason: yield* pack.exited,
      again: yield* Effect.flip(pack.call(callOf("pack", {})))
    }
  })
  const describeError = ({ reason, message }: PackError) => [reason, message]

  it.effect("ends its process only with process.exit", () =>
    Effect.gen(function* () {
      const { again, failure, reason } = yield* exitOf("() { process.exit(3) }")
      assert.strictEqual(reason, "its process exited with code 3")
      assert.deepStrictEqual(
        [describeError(failure), describeError(again)],
        [
          ["crashed", reason],
          ["crashed", reason]
        ]
      )
    })
  )

  it.effect("ends its process only when it exceeds its memory", () =>
    Effect.gen(function* () {
      const { failure, reason } = yield* exitOf(
        "() { const all = []; for (;;) all.push({ a: new Array(1000).fill(all.length) }) }",
        64
      )
      assert.strictEqual(reason, "its process was aborted, most likely because it used more than 64 MiB of memory")
      assert.deepStrictEqual(describeError(failure), ["crashed", reason])
    })
  )

  it.effect("leaves no files of a call after any exit", () =>
    Effect.gen(function* () {
      const notes = yield* temporaryFolder
      const schema = "{ type: 'object', properties: { file: { type: 'string', format: 'binary' } } }"
      const text = packSource({
        constructing: "this.fs = process.getBuiltinModule('node:fs')",
        routes: `() { return { endpoint: '/tools/pack', params: ${schema} } }`,
        tools: `() { return [{ name: 'pack' }, { name: 'unrouted', inputSchema: ${schema} }] }`,
        call: "(name, { file }) { this.fs.writeFileSync(file.name, file.path); process.exit(3) }"
      })
      for (const tool of ["pack", "unrouted"]) {
        const { call } = yield* loadText(text, { isolated: true })
        const note = join(notes, tool)
        const failing = call(callOf(tool, { file: `data:;name=${note},abc` }))
        assert.strictEqual((yield* Effect.flip(failing)).reason, "crashed")
        assert.isFalse(existsSync(readFileSync(note, "utf8")))
      }
    })
  )

  it.effect("dies when a cancelled call blocks it", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const pack = yield* loadText(
        packSource({
          call: `(name, args, { progress }) {
            if (args.wait) return new Promise(() => progress({ progress: 1 }))
            for (;;) {}
          }`
        }),
        { isolated: true }
      )
      const other = yield* Effect.forkChild(
        Effect.flip(
          pack.call(callOf("pack", { wait: true }), {
            onProgress: () => Effect.asVoid(Deferred.succeed(started, undefined))
          })
        )
      )
      yield* Deferred.await(started)
      const outcome = yield* Effect.timeoutOption(pack.call(callOf("pack", {})), "50 millis")
      assert.strictEqual(outcome._tag, "None")
      const reason = yield* pack.exited
      assert.match(reason, /^its process was unresponsive for a second/)
      assert.deepStrictEqual(describeError(yield* Fiber.join(other)), ["crashed", reason])
    })
  )

  it.effect("dies with its scope while it loads", () =>
    Effect.gen(function* () {
      const outcome = yield* Effect.timeoutOption(
        Effect.scoped(loadText("for (;;) {}", { isolated: true })),
        "300 millis"
      )
      assert.strictEqual(outcome._tag, "None")
    })
  )

  it.effect("prints to the log, not to the host's output", () =>
    Effect.gen(function* () {
      const received = yield* Deferred.make<unknown>()
      const logger = Logger.make<unknown, void>(({ message }) => Deferred.doneUnsafe(received, Effect.succeed(message)))
      yield* Effect.gen(function* () {
        const { call } = yield* loadText(packSource({ call: "() { console.log('printed') }" }), {
          isolated: true
        })
        yield* call(callOf("pack", {}))
        assert.deepStrictEqual(yield* Deferred.await(received), ["printed"])
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  )
})
