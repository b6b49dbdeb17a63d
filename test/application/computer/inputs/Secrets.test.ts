import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, Redacted, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeSecrets, redactLogs } from "../../../../src/application/computer/inputs/Secrets.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { tool } from "../../../conformance/members.ts"
import { counted, startedComputer, testComputer } from "../testComputer.ts"

const secret = 'hunter2 "quoted" & more'
const letGo = TestClock.adjust(0)

/** Every encoding of a value in a text. */
const spellings = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]
const assertSilent = (text: string) => {
  for (const spelling of spellings) assert.notInclude(text, spelling)
}

/** A Computer whose server leaks a secret in every possible place. */
const leaky = Effect.gen(function* () {
  const failure = new McpSessionError({ reason: "protocol", message: `the key ${secret} is wrong` })
  const memory = yield* makeMemoryMcpServer({ tools: [tool("t", () => Effect.fail(failure))] })
  const alpha = counted(memory, () => ({ listResources: () => Effect.fail(failure) }))
  const beta = counted(yield* makeMemoryMcpServer())
  beta.starts.failure = new McpSessionError({ reason: "unavailable", message: `curl -u ${secret} failed` })
  return yield* testComputer({
    servers: { alpha, beta },
    inputs: [{ type: "promptString", id: "key", password: true }],
    sources: { values: { key: secret } },
    environment: { TOKEN: secret },
    variables: { beta: { "envFile:KEY": Redacted.make(secret) } },
    configure: {
      alpha: { server_parameters: { command: "x", args: ["--key=${input:key}", "${env:TOKEN}"] } },
      beta: { server_parameters: { command: "x", env: { KEY: "${envFile:KEY}" } } }
    }
  })
})

/** What a logger receives from an effect whose secrets are redacted. */
const received = Effect.fnUntraced(function* (effect: Effect.Effect<void>) {
  let entry: { readonly message: unknown; readonly cause: Cause.Cause<unknown> } = { message: [], cause: Cause.empty }
  const logger = Logger.make<unknown, void>(({ cause, message }) => void (entry = { cause, message }))
  const secrets = makeSecrets()
  secrets.add(secret)
  yield* redactLogs(secrets)(effect).pipe(Effect.provide(Logger.layer([logger])))
  return entry
})

/** The value that a logger receives instead of the given one. */
const loggedValue = <A>(value: A) =>
  Effect.map(received(Effect.logError("failed", value)), ({ message }) => (message as readonly [string, A])[1])

const loggedCause = (cause: Cause.Cause<unknown>) =>
  Effect.map(received(Effect.logError("failed", cause)), (entry) => entry.cause)

describe("secret", () => {
  it.effect("never appears in the reasons of server states", () =>
    Effect.gen(function* () {
      const { computer } = yield* leaky
      yield* letGo
      const states = yield* computer.servers
      const reasons = ["alpha", "beta"].map((name) => {
        const state = states.get(name)
        return state !== undefined && "reason" in state ? state.reason : ""
      })
      assert.deepStrictEqual(reasons, [
        "cannot list resources: the key <redacted> is wrong",
        "curl -u <redacted> failed"
      ])
    })
  )

  it.effect("never appears in the error of a failed call", () =>
    Effect.gen(function* () {
      const { computer } = yield* leaky
      yield* letGo
      const result = yield* computer.callTool({ tool: "t", params: {} })
      assert.isTrue(result.isError)
      assertSilent(JSON.stringify(result))
    })
  )

  it.effect("never appears in logs and spans", () =>
    Effect.gen(function* () {
      const spans: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          const span = new Tracer.NativeSpan(options)
          spans.push(JSON.stringify([options.name, [...span.attributes]]))
          return span
        }
      })
      const { computer, logs } = yield* Effect.withTracer(leaky, tracer)
      yield* TestClock.adjust("1 minute")
      yield* Effect.withTracer(computer.callTool({ tool: "t", params: {} }), tracer)
      yield* computer.restart("alpha")
      assert.isAbove(logs.length, 0)
      assertSilent(logs.join("\n"))
      assertSilent(spans.join("\n"))
    })
  )

  it.effect("never appears in the log of a nested error", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const nested = new Error("cannot connect", { cause: new Error(`no host ${secret}`) })
      const holder = Object.assign(new Error("refused"), { endpoint: { headers: { key: secret } } })
      Object.assign(holder, { self: holder })
      let deep: unknown = secret
      for (let level = 0; level < 20; level++) deep = { deep }
      for (const stored of [nested, holder, deep, new Map([["key", secret]]), new Set([secret]), { [secret]: 1 }]) {
        seen.push(
          yield* loggedValue(stored),
          yield* loggedCause(Cause.die(stored)),
          yield* loggedCause(Cause.fail(stored))
        )
      }
      assertSilent(inspect(seen, { depth: 40 }))
      assert.include(inspect(seen), "cannot connect")
    })
  )

  it.effect("is redacted without its surrounding whitespace", () =>
    Effect.sync(() => {
      const secrets = makeSecrets()
      secrets.add(`${secret}\n`)
      assertSilent(secrets.redact(`Bearer ${secret}: refused`))
    })
  )

  it.effect("never appears in progress messages", () =>
    Effect.gen(function* () {
      const stored: Array<string | undefined> = []
      const memory = yield* makeMemoryMcpServer({
        tools: [
          tool("t", (_args, { progress }) =>
            Effect.as(progress({ progress: 1, message: `using ${secret}` }), { content: [] })
          )
        ]
      })
      const { computer } = yield* startedComputer({
        servers: { alpha: memory },
        environment: { TOKEN: secret },
        configure: { alpha: { server_parameters: { command: "x", args: ["${env:TOKEN}"] } } },
        settings: { onProgress: ({ message }) => Effect.sync(() => void stored.push(message)) }
      })
      yield* computer.callTool({ tool: "t", params: {} })
      assert.deepStrictEqual(stored, ["using <redacted>"])
    })
  )
})

describe("log redaction", () => {
  const safeError = Object.assign(new Error("refused", { cause: new Error("no host") }), { endpoint: { port: 1 } })

  it.effect.each([
    ["an error", safeError],
    ["an error without members", new Error("refused")],
    ["an array", ["a", [1, null], undefined]],
    ["an empty array", []],
    ["an object", { a: "b", none: null, unset: undefined, empty: {} }],
    ["a map", new Map([["a", 1]])],
    ["a set", new Set(["a"])],
    ["a URL", new URL("http://localhost/a")],
    ["an object with its own JSON", { toJSON: () => ({ a: 1 }) }],
    ["an object with a member toJSON that is no function", { toJSON: 1 }]
  ] as ReadonlyArray<readonly [string, unknown]>)("passes %s without secrets on itself", ([, value]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* loggedValue(value), value)
    })
  )

  it.effect.each([
    ["an array", ["a", secret, [secret, 1]], ["a", "<redacted>", ["<redacted>", 1]]],
    ["a map", new Map([["a", secret]]), ["a", "<redacted>"]],
    ["a set", new Set(["a", [secret]]), ["a", ["<redacted>"]]],
    ["the JSON of an object", { toJSON: () => ({ a: secret }) }, { a: "<redacted>" }],
    ["a URL", new URL(`http://localhost/?key=${encodeURIComponent(secret)}`), "http://localhost/?key=<redacted>"],
    [
      "an object",
      { a: secret, b: 1, none: null, unset: undefined, [secret]: 2 },
      { a: "<redacted>", b: 1, none: null, unset: undefined, "<redacted>": 2 }
    ]
  ] as ReadonlyArray<readonly [string, unknown, unknown]>)("redacts the strings of %s", ([, value, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* loggedValue(value), expected)
    })
  )

  it.effect("copies an error with its name, message, stack, cause and members", () =>
    Effect.gen(function* () {
      const error = new RangeError(`no ${secret}`, { cause: new Error(`no host ${secret}`) })
      const copy = yield* loggedValue(Object.assign(error, { endpoint: { key: secret } }))
      assert.deepStrictEqual([copy.name, copy.message], ["RangeError", "no <redacted>"])
      assert.include(copy.stack, "no <redacted>")
      assert.include(copy.stack, "Secrets.test.ts")
      assert.strictEqual((copy.cause as Error).message, "no host <redacted>")
      assert.deepStrictEqual(copy.endpoint, { key: "<redacted>" })
    })
  )

  it.effect("shows the members of a copied error, and neither its message nor its cause, in its own keys", () =>
    Effect.gen(function* () {
      const error = new Error(secret, { cause: "none" })
      const copy = yield* loggedValue(Object.assign(error, { endpoint: 1 }))
      const keys = Object.keys(copy).filter((key) => key !== "name")
      assert.deepStrictEqual(keys, ["endpoint"])
    })
  )

  it.effect.each([
    ["message", { message: secret, stack: "Error: refused" }, "<redacted>"],
    ["stack", { stack: `Error: ${secret}` }, "Error: <redacted>"],
    ["name", { name: secret, stack: "" }, "<redacted>"]
  ] as const)("redacts a secret in the %s of an error that is safe elsewhere", ([part, members, expected]) =>
    Effect.gen(function* () {
      const error = Object.assign(new Error("refused"), members)
      assert.strictEqual((yield* loggedValue(error))[part], expected)
    })
  )

  it.effect("copies an error without a stack as one without a stack", () =>
    Effect.gen(function* () {
      const error = new Error(secret)
      delete error.stack
      assert.strictEqual((yield* loggedValue(error)).stack, "")
    })
  )

  const nest = (levels: number, wrap: (inner: unknown) => unknown, innermost: unknown): unknown =>
    levels === 0 ? innermost : wrap(nest(levels - 1, wrap, innermost))
  const wraps: ReadonlyArray<readonly [string, (inner: unknown) => unknown]> = [
    ["objects", (inner) => ({ inner })],
    ["arrays", (inner) => [inner]]
  ]

  it.effect.each(wraps)("replaces %s below the eighth level of a message", ([, wrap]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* loggedValue(nest(7, wrap, secret)), nest(7, wrap, "<redacted>"))
      assert.deepStrictEqual(yield* loggedValue(nest(9, wrap, secret)), nest(7, wrap, "<nested too deeply>"))
    })
  )

  it.effect("replaces the causes of errors below the eighth level of a message", () =>
    Effect.gen(function* () {
      const chain = nest(9, (cause) => new Error("refused", { cause }), secret)
      let cause: unknown = yield* loggedValue(chain)
      const levels: Array<unknown> = []
      while (cause instanceof Error) {
        levels.push(cause)
        ;({ cause } = cause)
      }
      assert.deepStrictEqual([levels.length, cause], [7, "<nested too deeply>"])
    })
  )

  it.effect("replaces a reference of an object to itself", () =>
    Effect.gen(function* () {
      const loop: { [key: string]: unknown } = { key: secret }
      loop["self"] = loop
      assert.deepStrictEqual(yield* loggedValue(loop), { key: "<redacted>", self: "<nested too deeply>" })
    })
  )

  it.effect("copies an object once that occurs twice", () =>
    Effect.gen(function* () {
      const shared = { key: secret }
      const [one, other] = yield* loggedValue([shared, shared] as const)
      assert.strictEqual(one, other)
    })
  )

  it.effect("keeps the first 1000 members of a long array and of a large object", () =>
    Effect.gen(function* () {
      const numbers = Array.from({ length: 1001 }, (_, index) => index)
      assert.lengthOf(yield* loggedValue(numbers), 1000)
      const byName = Object.fromEntries(numbers.map((number) => [`n${number}`, number]))
      assert.lengthOf(Object.keys(yield* loggedValue(byName)), 1000)
    })
  )

  it.effect("passes a cause without secrets on itself", () =>
    Effect.gen(function* () {
      const cause = yield* loggedCause(Cause.combine(Cause.fail(safeError), Cause.interrupt(1)))
      const tags = cause.reasons.map(({ _tag }) => _tag)
      assert.deepStrictEqual(tags, ["Fail", "Interrupt"])
      assert.isTrue(cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === safeError))
    })
  )

  it.effect("redacts a cause with a secret in one of several reasons", () =>
    Effect.gen(function* () {
      const leaking = Object.assign(new Error("refused"), { headers: { key: secret } })
      const cause = yield* loggedCause(Cause.combine(Cause.fail(safeError), Cause.fail(leaking)))
      assertSilent(inspect(cause, { depth: 10 }))
    })
  )

  it.effect("redacts a secret that only the text of a cause shows", () =>
    Effect.gen(function* () {
      const cause = yield* loggedCause(Cause.fail({ toString: () => `refused: ${secret}` }))
      assert.include(Cause.pretty(cause), "refused: <redacted>")
    })
  )
})

describe("redaction", () => {
  const redacted = (text: string, ...values: ReadonlyArray<string>) => {
    const secrets = makeSecrets()
    for (const value of values) secrets.add(value)
    return secrets.redact(text)
  }

  it.each([
    ["hunter2", "hunter2-of-production"],
    ["hunter2-of-production", "hunter2"]
  ])("leaves nothing of a longer secret when %s is added before %s", (...values) => {
    assert.strictEqual(redacted("key hunter2-of-production, hunter2", ...values), "key <redacted>, <redacted>")
  })

  it("leaves nothing of secrets that overlap in a text", () => {
    assert.strictEqual(redacted("key abcdefghijkl.", "abcdefgh", "efghijkl"), "key <redacted>.")
    assert.strictEqual(redacted("key ababab.", "abab"), "key <redacted>.")
  })

  it("leaves nothing of a secret that is cut at the end of a text", () => {
    assert.strictEqual(redacted("key hunter2-of-prod", "hunter2-of-production"), "key <redacted>")
    assert.strictEqual(redacted("key hun", "hunter2-of-production"), "key hun")
  })

  it("keeps a word at the end of a text that only begins like a secret", () => {
    assert.strictEqual(redacted("two hunters", "hunter2-of-production"), "two hunters")
  })

  it.each(["hunter2-of-production refused", "hunter2-of-pro"])("redacts a secret at the start of %j", (text) => {
    assert.strictEqual(
      redacted(text, "hunter2-of-production"),
      text.endsWith("refused") ? "<redacted> refused" : "<redacted>"
    )
  })

  it("redacts values of four characters and keeps shorter ones", () => {
    assert.strictEqual(redacted("keys abcd and abc.", "abcd", "abc"), "keys <redacted> and abc.")
  })

  it("redacts a value inside JSON and inside a URL", () => {
    const value = 'a "b" & c'
    assert.strictEqual(redacted(JSON.stringify({ key: `Bearer ${value}!` }), value), '{"key":"Bearer <redacted>!"}')
    assert.strictEqual(redacted(`/?key=1${encodeURIComponent(value)}&more`, value), "/?key=1<redacted>&more")
  })

  it("redacts a value with half a surrogate pair", () => {
    assert.strictEqual(redacted("key abcd\ud800.", "abcd\ud800"), "key <redacted>.")
  })

  it("redacts secrets in the order of the text", () => {
    assert.strictEqual(
      redacted("one alpha, two gamma, three beta1", "gamma", "beta1", "alpha"),
      "one <redacted>, two <redacted>, three <redacted>"
    )
  })

  it("replaces a secret once that occurs in the mark of a redaction", () => {
    assert.strictEqual(redacted("key hunter2, redacted", "hunter2", "redacted"), "key <redacted>, <redacted>")
  })

  it.live("logs the start of a long text, without a secret that the limit cuts", () =>
    Effect.gen(function* () {
      const text = `${"x".repeat(16 * 1024 - 10)}${secret}${"y".repeat(14 * 1024 * 1024)}`
      const list = Array.from({ length: 100_000 }, () => secret)
      const logged = JSON.stringify(yield* received(Effect.logError(text, { text, list })))
      assert.notInclude(logged, secret.slice(0, 6))
      assert.isBelow(logged.length, 64 * 1024)
    })
  )
})
