import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Redacted } from "effect"
import { LogFormat, layerTo } from "../../../src/adapters/log/TerminalLog.ts"

/** Logs in a format and returns the lines. */
const logged = (format: LogFormat, logging: Effect.Effect<void>) =>
  Effect.suspend(() => {
    const lines: Array<string> = []
    return logging.pipe(
      Effect.provide(layerTo((line) => void lines.push(line))),
      Effect.provideService(LogFormat, format),
      Effect.as(lines)
    )
  })

const parsed = (line: string | undefined) => JSON.parse(line ?? "") as Record<string, unknown>

describe("JSON log", () => {
  it.live("writes one object per line with time, level, message and annotations", () =>
    Effect.gen(function* () {
      const [line = "", ...others] = yield* logged(
        "json",
        Effect.logInfo("joined\nan office", { sid: "s1", n: 2 }).pipe(Effect.annotateLogs({ node: "n1" }))
      )
      assert.deepStrictEqual(others, [])
      assert.strictEqual(line.indexOf("\n"), line.length - 1)
      const { time, ...rest } = parsed(line)
      assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
      assert.deepStrictEqual(rest, {
        level: "INFO",
        message: "joined\nan office",
        annotations: { node: "n1", sid: "s1", n: 2 }
      })
    })
  )

  it.live("writes the cause as one member", () =>
    Effect.gen(function* () {
      const [line] = yield* logged("json", Effect.logError("failed", new Error("the disk is full")))
      const [other] = yield* logged(
        "json",
        Effect.catchCause(Effect.die(new Error("the disk is full")), (cause) => Effect.logError("failed", cause))
      )
      assert.include(String(parsed(line)["message"]), "the disk is full")
      assert.include(String(parsed(other)["cause"]), "the disk is full")
    })
  )

  it.live("writes the ids of the current span", () =>
    Effect.gen(function* () {
      const [line] = yield* logged("json", Effect.withSpan(Effect.logInfo("inside"), "s"))
      assert.match(String(parsed(line)["span_id"]), /^[0-9a-f]{16}$/)
    })
  )

  it.live("accepts values that JSON does not have", () =>
    Effect.gen(function* () {
      const odd = { big: 10n, nothing: undefined, map: new Map(), self: {} }
      const round: { self: unknown } = odd
      round.self = new (class Thing {
        readonly me = this
      })()
      const [line] = yield* logged("json", Effect.logInfo("odd", odd))
      assert.deepStrictEqual(parsed(line)["annotations"], { big: "10", map: "[Map]", self: "[Thing]" })
    })
  )
})

describe("log", () => {
  const secrets = {
    authorization: "Bearer abc.def",
    mcpToken: "tok-1234",
    "X-API-Key": "key-1234",
    nested: [{ password: "hunter2" }],
    redis: "redis://user:hunter2@10.0.0.1:6379/0",
    odd: "redis://user:a@hunter2@10.0.0.1:6379/0",
    header: "got Authorization: Bearer eyJhbGciOi.J9abcdef12.sig",
    page: "http://h/x?token=hunter2&b=1",
    basic: "authorization: Basic aHVudGVyMg==",
    plain: "authorization: bearerhunter2",
    held: Redacted.make("hunter2")
  }

  for (const format of ["human", "json"] as const) {
    it.live(`hides secrets that it recognises, as ${format}`, () =>
      Effect.gen(function* () {
        const [line = ""] = yield* logged(
          format,
          Effect.logWarning("connecting to redis://:hunter2@host failed", secrets)
        )
        for (const secret of ["abc.def", "tok-1234", "key-1234", "hunter2", "aHVudGVy", "eyJ"]) {
          assert.notInclude(line, secret)
        }
        assert.include(line, "10.0.0.1:6379")
        assert.include(line, "b=1")
      })
    )
  }

  it.live("keeps values that are no secrets", () =>
    Effect.gen(function* () {
      const facts = {
        tokens: 12,
        url: "http://127.0.0.1:7070/smcp",
        reason: "a bearer token is needed",
        how: "send x-api-key or authorization: Bearer",
        sid: "k"
      }
      const [line = ""] = yield* logged("human", Effect.logInfo("fine", facts))
      assert.notInclude(line, "<redacted>")
    })
  )

  it.live("writes time, level, message and fields in one line", () =>
    Effect.gen(function* () {
      const [line = ""] = yield* logged("human", Effect.logInfo("joined", { office: "team 1", sid: "s" }))
      assert.match(line, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}joined office="team 1" sid=s\n$/)
    })
  )

  for (const format of ["human", "json"] as const) {
    it.live(`escapes control, bidirectional and invisible characters, as ${format}`, () =>
      Effect.gen(function* () {
        const office = "a\u001b[2J\u009b2J\u0007\u202e\u200b\n"
        const failure = new Error(`${office}12:00:00.000 INFO  joined`)
        const [line = ""] = yield* logged(
          format,
          Effect.logWarning(`refused ${office}`, { office, [office]: 1, list: [office] }, Cause.fail(failure)).pipe(
            Effect.annotateLogs({ pack: office })
          )
        )
        assert.notMatch(line, /(?!\n)\p{Cc}|\p{Cf}/u)
        assert.include(line, "\\u009b")
        assert.notMatch(line, /\n(?! {2}|$)/)
      })
    )

    it.live(`logs the start of a long text without the secret that the limit cuts, as ${format}`, () =>
      Effect.gen(function* () {
        const text = `${"x ".repeat(8 * 1024 - 15)}redis://user:${"hunter2".repeat(100)}@host${"y".repeat(14 * 1024 * 1024)}`
        const hostile = "a".repeat(14 * 1024 * 1024)
        const list = Array.from({ length: 100_000 }, () => text)
        const lines = yield* logged(format, Effect.logWarning(text, { text, hostile }, Cause.die(text)))
        const [line = ""] = [...lines, ...(yield* logged(format, Effect.logWarning("many", { list: list.fill("a") })))]
        assert.isBelow(lines.join("").length, 256 * 1024)
        assert.notInclude(line, "hunter")
        assert.include(line, "…")
      })
    )
  }
})
