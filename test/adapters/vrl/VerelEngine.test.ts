import { execFile } from "node:child_process"
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

/** A hundred million steps: about half a minute. */
const endless = `items = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
steps = 0
${"for_each(items) -> |_i, _v| { ".repeat(8)} steps = steps + 1 ${"}".repeat(8)}
.steps = steps`

/** Nested so deep that the engine runs out of stack, and is of no use from then on. */
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

layer(VerelEngine.layer())("scripts", (it) => {
  for (const [what, script, adds] of golden) {
    it.effect(what, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* check(script), undefined)
        assert.deepStrictEqual(yield* run(script), { ...event, ...adds })
      })
    )
  }

  it.effect("the time now, in UTC", () =>
    Effect.gen(function* () {
      const left = yield* run(". = now()")
      assert.match(String(left), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/)
    })
  )

  it.effect("an event may become anything JSON can say", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* run(". = null"), null)
      assert.deepStrictEqual(yield* run(". = [1]"), [1])
    })
  )

  it.effect("a bigint is a number to a script", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run(".next = int!(.n) + 1", { n: 41n }), { n: 41, next: 42 })
    })
  )

  it.effect("a fault is told with its line and column", () =>
    Effect.gen(function* () {
      assert.strictEqual(
        yield* check(".ok = 1\n.b = foo(3)"),
        'line 2, column 6: call to undefined function: undefined function; did you mean "bool"?'
      )
    })
  )

  it.effect("a column counts characters, whatever their size", () =>
    Effect.gen(function* () {
      assert.match((yield* check('.a = "é漢😀"; .b = foo()')) ?? "", /^line 1, column 18: /)
    })
  )

  it.effect("of many faults the first are told", () =>
    Effect.gen(function* () {
      const faults = (yield* check("foo()\n".repeat(30)))?.split("\n") ?? []
      assert.deepStrictEqual([faults.length, faults.at(-1)], [6, "and 25 more"])
    })
  )

  it.effect("a script that does not compile fails with its place", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run(".a = = 1"))
      assert.strictEqual(reason, "failed")
      assert.match(message, /^line 1, column 6: syntax error: /)
    })
  )

  it.effect("a failure at run time names its place", () =>
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

  it.effect("a script may give up in its own words", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run('abort "not today"'))
      assert.deepStrictEqual([reason, message], ["failed", "not today"])
    })
  )

  it.effect("an event that cannot be JSON is refused", () =>
    Effect.gen(function* () {
      const circle: { self?: unknown } = {}
      circle.self = circle
      assert.match((yield* Effect.flip(run(".a = 1", circle))).message, /cannot be written as JSON/)
    })
  )

  it.effect("an event larger than 8 MB is refused", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run(".a = 1", { text: "é".repeat(4.2 * 1024 * 1024) }))
      assert.deepStrictEqual([reason, message], ["failed", "the event is larger than 8388608 bytes"])
    })
  )

  it.effect("an event that a script makes larger than 8 MB is refused", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(run(".b = .text\n.c = .text", { text: "x".repeat(3 * 1024 * 1024) }))
      assert.match(failure.message, /^the script makes the event larger/)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("scripts asked for at once are answered in turn, each with its own", () =>
    Effect.gen(function* () {
      const ended: Array<unknown> = []
      const numbers = Array.from({ length: 100 }, (_, n) => n)
      const left = yield* Effect.forEach(
        numbers,
        (n) =>
          Effect.tap(run(".square = int!(.n) * int!(.n)", { n }), () => Effect.sync(() => ended.push(n))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        left,
        numbers.map((n) => ({ n, square: n * n }))
      )
      assert.deepStrictEqual(ended, numbers)
    })
  )

  it.effect("more than 128 waiting scripts are refused", () =>
    Effect.gen(function* () {
      const outcomes = yield* Effect.all(
        Array.from({ length: 130 }, () => run(".a = 1", {})),
        { concurrency: "unbounded", mode: "result" }
      )
      const refused = outcomes.flatMap((outcome) =>
        outcome._tag === "Failure" ? [outcome.failure.message] : []
      )
      assert.deepStrictEqual(
        refused,
        Array.from({ length: 2 }, () => "128 scripts are waiting already")
      )
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )
})

layer(VerelEngine.layer())("breakdowns", (it) => {
  it.effect("the reason is told, and the next script runs", () =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(check('.a = parse_proto!(.x, "/no/such/file.desc", "Message")'))
      assert.strictEqual(failure.reason, "failed")
      assert.match(failure.message, /^the VRL engine broke down: .*\/no\/such\/file\.desc/)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("an engine that is of no use any more is replaced", () =>
    Effect.gen(function* () {
      assert.match((yield* Effect.flip(run(tooDeep))).message, /^the VRL engine broke down: /)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("scripts that wait behind a breakdown are run all the same", () =>
    Effect.gen(function* () {
      const asked = [check(tooDeep), run(".a = 1", {}), run(".a = 2", {})]
      const [broken, ...others] = yield* Effect.all(asked, { concurrency: "unbounded", mode: "result" })
      assert.strictEqual(broken?._tag, "Failure")
      assert.deepStrictEqual(
        others.map((outcome) => outcome._tag === "Success" && outcome.success),
        [{ a: 1 }, { a: 2 }]
      )
    })
  )

  it.effect("an event nested deeper than the engine reads", () =>
    Effect.gen(function* () {
      const deep = Array.from({ length: 200 }).reduce<JsonObject>((inner) => ({ inner }), {})
      assert.strictEqual((yield* Effect.flip(run(".a = 1", deep))).reason, "failed")
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )

  it.effect("a script that is given up holds nobody up", () =>
    Effect.gen(function* () {
      yield* check("# the engine is there")
      const fiber = yield* Effect.forkChild(run(endless), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    })
  )
})

describe("limits of the engine", () => {
  it.live("a script that takes too long is stopped, and the next one runs", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(run(endless))
      assert.deepStrictEqual([reason, message], ["timeout", "the script takes longer than 1s"])
      assert.deepStrictEqual(yield* run(".a = 1", {}), { a: 1 })
    }).pipe(Effect.provide(VerelEngine.layer({ timeout: "1 second" })))
  )

  it.effect("a package that is not there is named when the first script comes", () =>
    Effect.gen(function* () {
      for (const asked of [check(".a = 1"), run(".a = 1")]) {
        const { message, reason } = yield* Effect.flip(asked)
        assert.strictEqual(reason, "missing")
        assert.include(message, "npm install @a2c-smcp/no-such-engine")
      }
    }).pipe(Effect.provide(VerelEngine.layer({ module: "@a2c-smcp/no-such-engine" })))
  )

  it.effect("a package that does not load says why", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(check(".a = 1"))
      assert.deepStrictEqual([reason, message], ["failed", "the VRL engine broke down: no WebAssembly"])
    }).pipe(
      Effect.provide(VerelEngine.layer({ module: 'data:text/javascript,throw Error("no WebAssembly")' }))
    )
  )

  it.effect("a thread that ends under a script fails it", () =>
    Effect.gen(function* () {
      const { message, reason } = yield* Effect.flip(check(".a = 1"))
      assert.deepStrictEqual([reason, message], ["failed", "the VRL engine was stopped"])
    }).pipe(
      Effect.provide(
        VerelEngine.layer({ module: "data:text/javascript,export const check = () => process.exit()" })
      )
    )
  )

  it.effect("the engine ends with its layer, whatever it is doing", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const engine = Context.get(
        yield* Scope.provide(Layer.build(Layer.fresh(VerelEngine.layer())), scope),
        VrlEngine
      )
      yield* engine.check("# the engine is there")
      const fiber = yield* Effect.forkChild(engine.run(endless, {}), { startImmediately: true })
      yield* Scope.close(scope, Exit.void)
      const exit = yield* Fiber.await(fiber)
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /the VRL engine was stopped/)
    })
  )

  it("the engine keeps no process alive", async () => {
    const file = new URL("../../../src/adapters/vrl/VerelEngine.ts", import.meta.url)
    const port = new URL("../../../src/application/ports/VrlEngine.ts", import.meta.url)
    const program = `
      import { Effect, ManagedRuntime } from "effect"
      import { layer } from "${file.href}"
      import { VrlEngine } from "${port.href}"
      const left = await ManagedRuntime.make(layer()).runPromise(VrlEngine.use((e) => e.run(".a = 1", {})))
      console.log(JSON.stringify(left))`
    const { stderr, stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", program],
      { timeout: 15_000 }
    )
    assert.deepStrictEqual([stdout, stderr], ['{"a":1}\n', ""])
  })
})
