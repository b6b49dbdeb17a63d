import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { assert, describe, it, layer } from "@effect/vitest"
import { Cause, Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import * as VerelEngine from "../../../src/adapters/vrl/VerelEngine.ts"
import { VrlEngine } from "../../../src/application/ports/VrlEngine.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const event = {
  content: [
    { type: "text", text: "a" },
    { type: "text", text: "b" }
  ],
  isError: false,
  tool_name: "list",
  parameters: { path: "/tmp", deep: "yes" }
}

/** A hundred million steps, about half a minute. */
const endless = `items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
steps = 0
${"for_each(items) -> |_i, _v| { ".repeat(8)} steps = steps + 1 ${"}".repeat(8)}
.steps = steps`

/** Nested so deep that the engine overflows its stack and becomes unusable. */
const tooDeep = `.a = ${"(".repeat(2000)}1${")".repeat(2000)}`

const run = (script: string, of: JsonObject = event) => VrlEngine.use((engine) => engine.run(script, of))
const check = (script: string) => VrlEngine.use((engine) => engine.check(script))

const golden: ReadonlyArray<readonly [what: string, script: string, adds: JsonObject]> = [
  ["assignments", '.processed = true\n.name = "x"\n.n = 1 + 2', { processed: true, name: "x", n: 3 }],
  ["paths", ".first = .content[0].text\n.path = .parameters.path", { first: "a", path: "/tmp" }],
  ["paths that lead nowhere", ".nothing = .no.such[3].field", { nothing: null }],
  [
    "conditions",
    'if .isError == true { .state = "bad" } else if .tool_name == "list" { .state = "list" }',
    { state: "list" }
  ],
  [
    "conversions with a fallback",
    ".bad = to_bool(.content) ?? false\n.good = to_bool(.parameters.deep) ?? false",
    { bad: false, good: true }
  ],
  ["functions that must succeed", ".count = length!(.content)", { count: 2 }],
  [
    "object literals",
    '.summary = { "tool": .tool_name, "list": [1, { "x": null }] }',
    { summary: { tool: "list", list: [1, { x: null }] } }
  ],
  ["text beyond ASCII", '.text = "é漢😀"', { text: "é漢😀" }],
  ["comments alone", "# nothing to do", {}]
]

layer(VerelEngine.layer())("VRL script", (it) => {
  for (const [what, script, adds] of golden) {
    it.effect(what, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* check(script), undefined)
        assert.deepStrictEqual(yield* run(script), { ...event, ...adds })
      })
    )
  }

  it.effect("reads the current time in UTC", () =>
    Effect.gen(function* () {
      const left = yield* run(". = now()")
      assert.match(String(left), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    })
  )

  it.effect("replaces the event by any JSON value", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run(". = null"), null)
      assert.deepStrictEqual(yield* run(". = [1]"), [1])
    })
  )

  it.effect("reads a bigint as a number", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run(".next = int!(.n) + 1", { n: 41n }), { n: 41, next: 42 })
    })
  )

  it.effect("reports an error with line and column", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* check(".ok = 1\n.b = foo(3)"),
        'line 2, column 6: call to undefined function: undefined function; did you mean "bool"?'
      )
    })
  )

  it.effect("counts columns in characters", () =>
    Effect.gen(function* () {
      assert.match((yield* check('.a = "é漢😀"; .b = foo()')) ?? "", /^line 1, column 18: /)
    })
  )

  it.effect("reports the first of many errors", () =>
    Effect.gen(function* () {
      const faults = (yield* check("foo()\n".repeat(30)))?.split("\n") ?? []
      assert.deepStrictEqual([faults.length, faults.at(-1)], [6, "and 25 more"])
    })
  )

  it.effect("fails with the position of a compile error", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run(".a = = 1"))
      assert.strictEqual(reason, "failed")
      assert.match(message, /^line 1, column 6: syntax error: /)
    })
  )

  it.effect("fails with the position of a runtime error", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(run('.ok = "é"\n.n = to_int!(.tool_name)'))
      assert.deepStrictEqual(
        [failure.reason, failure.message],
        [
          "failed",
          'line 2, column 6: function call error for "to_int": Invalid integer "list": invalid digit found in string'
        ]
      )
    })
  )

  it.effect("fails with the message of abort", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run('abort "not today"'))
      assert.deepStrictEqual([reason, message], ["failed", "not today"])
    })
  )

  it.effect("rejects an event that JSON cannot encode", () =>
    Effect.gen(function* () {
      const circle: { self?: unknown } = {}
      circle.self = circle
      assert.match((yield* Effect.flip(run(".a = 1", circle))).message, /cannot be encoded as JSON/)
    })
  )

  it.effect("rejects an event beyond 8 MB", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run(".a = 1", { text: "é".repeat(4.2 * 1024 * 1024) }))
      assert.deepStrictEqual([reason, message], ["failed", "the event exceeds 8388608 bytes"])
    })
  )

  it.effect("fails when the script grows the event beyond 8 MB", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(run(".b = .text\n.c = .text", { text: "x".repeat(3 * 1024 * 1024) }))
      assert.match(failure.message, /^the script grew the event beyond/)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("runs concurrent requests in order", () =>
    Effect.gen(function* () {
      const ended: Array<unknown> = []
      const numbers = Array.from({ length: 100 }, (_, n) => n)
      const left = yield* Effect.forEach(
        numbers,
        (n) => Effect.tap(run(".square = int!(.n) * int!(.n)", { n }), () => Effect.sync(() => ended.push(n))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        left,
        numbers.map((n) => ({ n, square: n * n }))
      )
      assert.deepStrictEqual(ended, numbers)
    })
  )

  it.effect("rejects requests when the queue of 128 is full", () =>
    Effect.gen(function* () {
      const outcomes = yield* Effect.all(
        Array.from({ length: 130 }, () => run(".a = 1", {})),
        { concurrency: "unbounded", mode: "result" }
      )
      const refused = outcomes.flatMap((outcome) => (outcome._tag === "Failure" ? [outcome.failure.message] : []))
      assert.deepStrictEqual(
        refused,
        Array.from({ length: 2 }, () => "the script queue is full (128)")
      )
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )
})

layer(VerelEngine.layer())("VRL engine crash", (it) => {
  it.effect("reports the reason, and the next script runs", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(check('.a = parse_proto!(.x, "/no/such/file.desc", "Message")'))
      assert.strictEqual(failure.reason, "failed")
      assert.match(failure.message, /^the VRL engine crashed: .*\/no\/such\/file\.desc/)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("replaces the crashed engine", () =>
    Effect.gen(function* () {
      assert.match((yield* Effect.flip(run(tooDeep))).message, /^the VRL engine crashed: /)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("runs the scripts that were queued behind it", () =>
    Effect.gen(function* () {
      const requests = [check(tooDeep), run(".a = 1", {}), run(".a = 2", {})]
      const [broken, ...others] = yield* Effect.all(requests, { concurrency: "unbounded", mode: "result" })
      assert.strictEqual(broken?._tag, "Failure")
      assert.deepStrictEqual(
        others.map((outcome) => outcome._tag === "Success" && outcome.success),
        [{ a: 1 }, { a: 2 }]
      )
    })
  )

  it.effect("is caused by an event that exceeds the nesting limit", () =>
    Effect.gen(function* () {
      const deep = Array.from({ length: 200 }).reduce<JsonObject>((inner) => ({ inner }), {})
      assert.strictEqual((yield* Effect.flip(run(".a = 1", deep))).reason, "failed")
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("continues with the next script after an interruption", () =>
    Effect.gen(function* () {
      yield* check("# the engine is there")
      const fiber = yield* Effect.forkChild(run(endless), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )
})

describe("VerelEngine", () => {
  it.live("stops a script after the timeout and runs the next one", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run(endless))
      assert.deepStrictEqual([reason, message], ["timeout", "the script timed out after 1s"])
      // A busy machine may take more than a second for the new thread.
      assert.deepStrictEqual(yield* Effect.retry(run(".a = 1", {}), { times: 10 }), { a: 1 })
    }).pipe(Effect.provide(VerelEngine.layer({ timeout: "1 second" })))
  )

  it.effect("names a missing package and its tested version with the first script", () =>
    Effect.gen(function* () {
      const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
        readonly devDependencies: { readonly [name: string]: string }
      }
      const version = devDependencies["@bpinternal/verel"]
      for (const request of [check(".a = 1"), run(".a = 1")]) {
        const { message, reason } = yield* Effect.flip(request)
        assert.strictEqual(reason, "missing")
        assert.include(message, `npm install @a2c-smcp/no-such-engine@${version}`)
      }
    }).pipe(Effect.provide(VerelEngine.layer({ module: "@a2c-smcp/no-such-engine" })))
  )

  it.effect.each([
    ["reports why a package does not load", 'throw Error("no WebAssembly")', "the VRL engine crashed: no WebAssembly"],
    ["fails a script whose thread ends", "export const check = () => process.exit()", "the VRL engine was stopped"]
  ] as const)("%s", ([, module, expected]) =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(check(".a = 1"))
      assert.deepStrictEqual([reason, message], ["failed", expected])
    }).pipe(Effect.provide(VerelEngine.layer({ module: `data:text/javascript,${module}` })))
  )

  it.effect("stops with its layer while a script runs", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const engine = Context.get(yield* Scope.provide(Layer.build(Layer.fresh(VerelEngine.layer())), scope), VrlEngine)
      yield* engine.check("# the engine is there")
      const fiber = yield* Effect.forkChild(engine.run(endless, {}), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.await(fiber)
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /the VRL engine was stopped/)
    })
  )

  it("never keeps the process alive", async () => {
    const file = new URL("../../../src/adapters/vrl/VerelEngine.ts", import.meta.url)
    const port = new URL("../../../src/application/ports/VrlEngine.ts", import.meta.url)
    const program = `
      import { Effect, ManagedRuntime } from "effect"
      import { layer } from "${file.href}"
      import { VrlEngine } from "${port.href}"
      const left = await ManagedRuntime.make(layer()).runPromise(VrlEngine.use((e) => e.run(".a = 1", {})))
      console.log(JSON.stringify(left))`
    const { stderr, stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      timeout: 120_000
    })
    assert.deepStrictEqual([stdout, stderr], ['{"a":1}\n', ""])
  })
})
