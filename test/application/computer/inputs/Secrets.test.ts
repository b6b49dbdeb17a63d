import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Logger, Redacted, Schema, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { makeSecrets, redactLogs } from "../../../../src/application/computer/inputs/Secrets.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { ComputerConfig } from "../../../../src/domain/config/computerConfig.ts"
import { tool } from "../../../conformance/members.ts"
import { counted, staged } from "../stage.ts"

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
  const alpha = counted(memory, (session) => ({ ...session, listResources: () => Effect.fail(failure) }))
  const beta = counted(yield* makeMemoryMcpServer())
  beta.starts.failure = new McpSessionError({ reason: "unavailable", message: `curl -u ${secret} failed` })
  return yield* staged({
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

describe("secret", () => {
  it.effect("never appears in the configuration that Agents see", () =>
    Effect.gen(function* () {
      const { computer } = yield* leaky
      yield* letGo
      const { config } = yield* computer.setup
      const text = JSON.stringify(yield* Schema.encodeEffect(ComputerConfig)(config))
      assert.include(text, "${input:key}")
      assertSilent(text)
    })
  )

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
      const logger = Logger.make<unknown, void>(({ cause, message }) => void seen.push(message, cause))
      const secrets = makeSecrets()
      secrets.add(secret)
      const nested = new Error("cannot connect", { cause: new Error(`no host ${secret}`) })
      const holder = Object.assign(new Error("refused"), { endpoint: { headers: { key: secret } } })
      Object.assign(holder, { self: holder })
      let deep: unknown = secret
      for (let level = 0; level < 20; level++) deep = { deep }
      for (const said of [nested, holder, deep, new Map([["key", secret]]), { [secret]: 1 }]) {
        yield* redactLogs(secrets)(Effect.logError("failed", said)).pipe(Effect.provide(Logger.layer([logger])))
        yield* redactLogs(secrets)(Effect.logError("failed", Cause.die(said))).pipe(
          Effect.provide(Logger.layer([logger]))
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
      const said: Array<string | undefined> = []
      const memory = yield* makeMemoryMcpServer({
        tools: [
          tool("t", (_args, { progress }) =>
            Effect.as(progress({ progress: 1, message: `using ${secret}` }), { content: [] })
          )
        ]
      })
      const { computer } = yield* staged({
        servers: { alpha: memory },
        environment: { TOKEN: secret },
        configure: { alpha: { server_parameters: { command: "x", args: ["${env:TOKEN}"] } } },
        settings: { onProgress: ({ message }) => Effect.sync(() => void said.push(message)) }
      })
      yield* letGo
      yield* computer.callTool({ tool: "t", params: {} })
      assert.deepStrictEqual(said, ["using <redacted>"])
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

  it("replaces a secret once that occurs in the mark of a redaction", () => {
    assert.strictEqual(redacted("key hunter2, redacted", "hunter2", "redacted"), "key <redacted>, <redacted>")
  })

  it.live("logs the start of a long text, without a secret that the limit cuts", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const logger = Logger.make<unknown, void>(({ message }) => void seen.push(message))
      const secrets = makeSecrets()
      secrets.add(secret)
      const text = `${"x".repeat(16 * 1024 - 10)}${secret}${"y".repeat(14 * 1024 * 1024)}`
      const list = Array.from({ length: 100_000 }, () => secret)
      yield* redactLogs(secrets)(Effect.logError(text, { text, list })).pipe(Effect.provide(Logger.layer([logger])))
      const logged = JSON.stringify(seen)
      assert.notInclude(logged, secret.slice(0, 6))
      assert.isBelow(logged.length, 64 * 1024)
    })
  )
})
