import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Fiber, Logger, Schedule, Scope } from "effect"
import * as NodeLoader from "../../../../src/adapters/packs/NodePackLoader.ts"
import type { McpCallOptions, McpProgress } from "../../../../src/application/ports/McpSession.ts"
import type { LoadedPack, PackError, PackLoader } from "../../../../src/application/ports/packs/PackLoader.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { temporaryFolder } from "../../../temporaryFolder.ts"
import { callOf, loadText } from "../packs.ts"
import { describePython, loadPython, pythonPack } from "./python.ts"

/** What the code of `callTool` does, in both languages; `args.path` is a file that it may write. */
const behaviours = {
  echo: ["return args.text", "return [TextContent(type='text', text=arguments['text'])]"],
  fail: ["throw new Error('the disk is full')", "raise RuntimeError('the disk is full')"],
  reject: [
    "throw Object.assign(new Error('too loud'), { code: -32602 })",
    "raise McpError(ErrorData(code=INVALID_PARAMS, message='too loud'))"
  ],
  progress: [
    "context.progress({ progress: 1, total: 2, message: 'half' }); context.progress({ progress: 2 }); return 'done'",
    "self.report_progress(1, 2, 'half')\nself.report_progress(2)\nreturn [TextContent(type='text', text='done')]"
  ],
  print: [
    "console.log('to stdout'); console.error('to stderr'); return 'done'",
    "print('to stdout')\nprint('to stderr', file=sys.stderr)\nreturn [TextContent(type='text', text='done')]"
  ],
  log: [
    "context.logger.warn('look'); return 'done'",
    "self.logger.warning('look')\nreturn [TextContent(type='text', text='done')]"
  ],
  exit: ["process.exit(3)", "sys.exit(3)"],
  hoard: [
    "const all = []; for (;;) all.push({ a: new Array(1000).fill(all.length) })",
    "all = []\nwhile True: all.append([len(all)] * 1000)"
  ],
  wait: [
    `const fs = process.getBuiltinModule("node:fs")
    fs.writeFileSync(args.path, "started")
    return new Promise((_, reject) => context.signal.addEventListener("abort", () => {
      fs.writeFileSync(args.path, "aborted"); reject(new Error("aborted"))
    }))`,
    "open(arguments['path'], 'w').write('started')\ntry:\n    await asyncio.sleep(600)\nexcept asyncio.CancelledError:\n    open(arguments['path'], 'w').write('aborted')\n    raise"
  ],
  block: [
    `process.getBuiltinModule("node:fs").writeFileSync(args.path, "started"); for (;;);`,
    "open(arguments['path'], 'w').write('started')\nwhile True: pass"
  ]
} as const

type Behaviour = keyof typeof behaviours

const params = "{ type: 'object', properties: { text: { type: 'string' }, path: { type: 'string' } } }"

const nodePack = (behaviour: Behaviour) => `export class T {
  getRouteConfig() { return { endpoint: "/tools/pack", params: ${params} } }
  listTools() { return [{ name: "pack", description: "A pack" }] }
  async callTool(_name, args, context) { ${behaviours[behaviour][0]} }
  dispose() { process.getBuiltinModule("node:fs").appendFileSync(process.env.A2C_TEST_TRACE ?? "/dev/null", "disposed") }
}`

const languages: Record<
  string,
  (behaviour: Behaviour, memory?: number) => Effect.Effect<LoadedPack, PackError, PackLoader | Scope.Scope>
> = {
  node: (behaviour, memory = 128) => loadText(nodePack(behaviour), { isolated: true, memory }),
  python: (behaviour, memory = 512) =>
    loadPython(pythonPack({ params: "text: str = ''\npath: str = ''", call: behaviours[behaviour][1] }), { memory })
}

const text = (value: string) => ({ content: [{ type: "text", text: value }] })

const call = (pack: LoadedPack, args: JsonObject = {}, options?: McpCallOptions) =>
  pack.call(callOf("pack", args), options)

/** Waits until a file has this text. */
const written = (file: string, wanted: string) =>
  Effect.sync(() => (existsSync(file) ? readFileSync(file, "utf8") : "")).pipe(
    Effect.repeat({ until: (content) => content === wanted, schedule: Schedule.spaced("10 millis") })
  )

describePython("process of a pack", () => {
  for (const [language, start] of Object.entries(languages)) {
    layer(NodeLoader.layer, { excludeTestServices: true })(language, (it) => {
      it.effect("declares its route and its tool", () =>
        Effect.gen(function* () {
          const { manifest } = yield* start("echo")
          assert.deepInclude(manifest.routes[0], { endpoint: "/tools/pack", tool: "pack", useForm: false, files: {} })
          assert.deepInclude(manifest.tools[0], { name: "pack", description: "A pack" })
          assert.deepStrictEqual(manifest.warnings, [])
        })
      )

      it.effect("calls its tool several times at once", () =>
        Effect.gen(function* () {
          const pack = yield* start("echo")
          const texts = ["a", "ü", "你好 😀", '"\n\\']
          const results = yield* Effect.forEach(texts, (one) => call(pack, { text: one }), { concurrency: "unbounded" })
          assert.deepStrictEqual(results, texts.map(text))
        })
      )

      it.effect("rejects invalid parameters with their place", () =>
        Effect.gen(function* () {
          const { problems, reason } = yield* Effect.flip(call(yield* start("echo"), { text: 7 }))
          assert.deepStrictEqual(
            [reason, problems?.map(({ loc, type }) => [loc, type])],
            ["invalid_params", [[["body", "text"], "string_type"]]]
          )
        })
      )

      it.effect("reports what the tool rejects", () =>
        Effect.gen(function* () {
          const { message, problems, reason } = yield* Effect.flip(call(yield* start("reject")))
          assert.deepStrictEqual([reason, message], ["invalid_params", "too loud"])
          assert.deepStrictEqual(problems, [{ loc: ["body"], msg: "too loud", type: "value_error" }])
        })
      )

      it.effect("reports a failure without its stack, and goes on", () =>
        Effect.gen(function* () {
          const pack = yield* start("fail")
          for (let attempt = 0; attempt < 2; attempt++) {
            const { message, reason } = yield* Effect.flip(call(pack))
            assert.deepStrictEqual([reason, message], ["failed", "the disk is full"])
          }
        })
      )

      it.effect("reports progress in order, before the result", () =>
        Effect.gen(function* () {
          const reports: Array<McpProgress> = []
          const onProgress = (one: McpProgress) => Effect.sync(() => void reports.push(one))
          const result = yield* call(yield* start("progress"), {}, { onProgress })
          assert.deepStrictEqual(reports, [{ progress: 1, total: 2, message: "half" }, { progress: 2 }])
          assert.deepStrictEqual(result, text("done"))
        })
      )

      it.effect("logs what it prints and logs", () =>
        Effect.gen(function* () {
          const lines: Array<string> = []
          const logger = Logger.make<unknown, void>(
            ({ logLevel, message }) => void lines.push(`${logLevel}: ${String(message)}`)
          )
          yield* Effect.gen(function* () {
            yield* call(yield* start("print"))
            yield* call(yield* start("log"))
            yield* Effect.sync(() => lines).pipe(
              Effect.repeat({ until: ({ length }) => length >= 3, schedule: Schedule.spaced("10 millis") })
            )
          }).pipe(Effect.provide(Logger.layer([logger])))
          assert.sameMembers(lines, ["Info: to stdout", "Warn: to stderr", "Warn: look"])
        })
      )

      it.effect("fails its calls when it ends its process", () =>
        Effect.gen(function* () {
          const pack = yield* start("exit")
          const { message, reason } = yield* Effect.flip(call(pack))
          assert.deepStrictEqual([reason, message], ["crashed", "its process exited with code 3"])
          assert.strictEqual(yield* pack.exited, message)
        })
      )

      it.effect("ends alone when it exceeds its memory", () =>
        Effect.gen(function* () {
          const { message, reason } = yield* Effect.flip(call(yield* start("hoard", language === "node" ? 64 : 256)))
          assert.strictEqual(reason, "crashed")
          assert.match(message, /used more than \d+ MiB of memory$/)
        })
      )

      it.effect("ends the code of a cancelled call, and goes on", () =>
        Effect.gen(function* () {
          const file = join(yield* temporaryFolder, "trace")
          const pack = yield* start("wait")
          const calling = yield* Effect.forkChild(call(pack, { path: file }))
          yield* written(file, "started")
          yield* Fiber.interrupt(calling)
          yield* written(file, "aborted")
          assert.isUndefined(yield* Effect.race(pack.exited, Effect.as(Effect.sleep("1500 millis"), undefined)))
        })
      )

      it.effect("is killed when it does not end a cancelled call", () =>
        Effect.gen(function* () {
          const file = join(yield* temporaryFolder, "trace")
          const pack = yield* start("block")
          const calling = yield* Effect.forkChild(call(pack, { path: file }))
          yield* written(file, "started")
          yield* Fiber.interrupt(calling)
          assert.match(yield* pack.exited, /^its process was unresponsive for a second and was killed$/)
        })
      )

      it.effect("leaves no process behind", () =>
        Effect.gen(function* () {
          const scope = yield* Scope.make()
          const pack = yield* Scope.provide(start("echo"), scope)
          yield* call(pack, { text: "a" })
          yield* Scope.close(scope, Exit.void)
          assert.strictEqual((yield* Effect.flip(call(pack, { text: "a" }))).reason, "crashed")
        })
      )
    })
  }
})
