import { spawnSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Redacted } from "effect"
import { vi } from "vitest"
import { layer as consoleLayer } from "../../../src/adapters/log/ConsoleLog.ts"
import { LogFormat, layer, layerTo } from "../../../src/adapters/log/TerminalLog.ts"

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

/** The fields of a JSON line, as they are logged. */
const fieldsOf = (fields: object) =>
  Effect.map(logged("json", Effect.logInfo("fields", fields)), ([line]) => parsed(line)["annotations"])

/** A text in arrays and objects of this many levels. */
const nested = (levels: number, text: string) => {
  const inside = (open: string, close: string) =>
    JSON.parse(`${open.repeat(levels)}${JSON.stringify(text)}${close.repeat(levels)}`) as unknown
  return { arrays: inside("[", "]"), objects: inside('{"a":', "}") }
}

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

  it.live("joins the parts of a message with spaces", () =>
    Effect.gen(function* () {
      const [line] = yield* logged("json", Effect.logInfo("read two", 7, [1, "a b"], null))
      assert.strictEqual(parsed(line)["message"], 'read two 7 [1,"a b"] null')
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

  const held = { list: ["a b", { password: "<redacted>" }, 7, null], token: 7, secret: true, apiKey: null }
  const secretMembers = {
    ...held,
    list: ["a b", { password: "hunter2" }, 7, null],
    credentials: { user: "u", pin: "hunter2" },
    cookie: ["hunter2"],
    held: { name: null }
  }
  const cyclic = { toJSON: (): unknown => cyclic }
  const items = Array.from({ length: 1001 }, (_, index) => `x${index}`)
  const membersOf = (names: ReadonlyArray<string>) => Object.fromEntries(names.map((name) => [name, 1]))
  const first = items.slice(0, 1000)
  it.live.each<readonly [title: string, fields: object, written: object]>([
    [
      "hides members with secret names, at any depth, except for numbers, flags and null",
      secretMembers,
      { ...held, credentials: "<redacted>", cookie: "<redacted>", held: { name: null } }
    ],
    ["writes a value as its own JSON", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    ["writes an ellipsis for an object that is its own JSON", { cyclic }, { cyclic: "…" }],
    ["writes a member with the name toJSON as data", { body: { toJSON: 1 } }, { body: { toJSON: 1 } }],
    // The object with the fields is one level more.
    ["writes arrays and objects of 128 levels", nested(127, "leaf"), nested(127, "leaf")],
    ["writes an ellipsis for deeper arrays and objects", nested(128, "leaf"), nested(127, "…")],
    [
      "writes the first 1000 items of an array and members of an object",
      { items, members: membersOf(items) },
      { items: first, members: membersOf(first) }
    ]
  ])("%s", ([, fields, written]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* fieldsOf(fields), written)
    })
  )

  for (const format of ["human", "json"] as const) {
    it.live(`hides secrets in the own JSON of a value, as ${format}`, () =>
      Effect.gen(function* () {
        const url = new URL("http://host/path?token=hunter2")
        const held = { toJSON: () => ({ password: "hunter2", list: [url] }) }
        const [line = ""] = yield* logged(format, Effect.logInfo("request", url, { url, held }))
        assert.include(line, "/path")
        assert.notInclude(line, "hunter2")
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

  const failure = new Error("the disk is full\nno space")
  it.live.each<readonly [title: string, logging: Effect.Effect<void>, line: RegExp]>([
    [
      "writes time, level, message and fields in one line",
      Effect.logInfo("joined", { office: "team 1", sid: "s" }),
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}joined office="team 1" sid=s\n$/
    ],
    [
      "writes the parts of a message as text and as JSON",
      Effect.logInfo("read two", 7, [1, "a b"], null, { n: 1 }),
      / INFO {2}read two 7 \[1,"a b"\] null n=1\n$/
    ],
    [
      "writes a field with control characters as JSON",
      Effect.logInfo("joined", { office: "a\u001b[2J\u202e" }),
      /office="a\\u001b\[2J\\u202e"/
    ],
    [
      "writes the cause on further lines, indented",
      Effect.logError("failed", Cause.fail(failure)),
      / ERROR failed\n {2}.*the disk is full\n {2}no space\n/
    ]
  ])("%s", ([, logging, expected]) =>
    Effect.gen(function* () {
      assert.match((yield* logged("human", logging)).join(""), expected)
    })
  )

  it.live("writes lines of the level info together, and a warning at once", () =>
    Effect.gen(function* () {
      const written: Array<unknown> = []
      const spy = vi.spyOn(console, "error").mockImplementation((text) => void written.push(text))
      yield* Effect.gen(function* () {
        yield* Effect.logInfo("one")
        yield* Effect.logInfo("two")
        assert.strictEqual(written.length, 0)
        yield* Effect.logWarning("three")
        assert.match(String(written[0]), /one\n.*two\n.*three$/)
        yield* Effect.logInfo("four")
      }).pipe(Effect.provide(layer), Effect.ensuring(Effect.sync(() => spy.mockRestore())))
      assert.match(String(written[1]), /four$/)
      assert.strictEqual(written.length, 2)
    })
  )

  it("writes waiting lines when the process exits", () => {
    const log = new URL("../../../src/adapters/log/TerminalLog.ts", import.meta.url).href
    const program = `
      import { Effect } from "effect"
      import { layer } from "${log}"
      Effect.runSync(Effect.provide(Effect.andThen(Effect.logInfo("last"), Effect.sync(() => process.exit(3))), layer))
    `
    const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], {
      encoding: "utf8"
    })
    assert.strictEqual(status, 3)
    assert.match(stderr, /INFO {2}last\n/)
  })

  it.live("writes text to stderr by default, each line once", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const spy = vi.spyOn(console, "error").mockImplementation((...parts) => void lines.push(parts))
      yield* Effect.logInfo("joined").pipe(Effect.provide(layer), Effect.ensuring(Effect.sync(() => spy.mockRestore())))
      assert.strictEqual(yield* LogFormat, "human")
      assert.match(JSON.stringify(lines), /^\[\["[\d:.]+ INFO {2}joined"\]\]$/)
    })
  )

  it.live("writes lines to the console of a browser, without secrets and control characters", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const spy = vi.spyOn(console, "error").mockImplementation((...parts) => void lines.push(parts))
      yield* Effect.logWarning("lost\u001b[2J", { token: "hunter2" }).pipe(
        Effect.provide(consoleLayer),
        Effect.ensuring(Effect.sync(() => spy.mockRestore()))
      )
      assert.match(JSON.stringify(lines), /^\[\["[\d:.]+ WARN {2}lost\\\\u001b\[2J token=<redacted>"\]\]$/)
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
