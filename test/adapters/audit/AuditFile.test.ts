import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer, Logger, Queue, Scope } from "effect"
import * as AuditFile from "../../../src/adapters/audit/AuditFile.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"
import { jsonBody } from "../../../src/application/ports/Body.ts"
import { withWallClock } from "../../wallClock.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "a2c-audit-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true }))
)

const time = Date.UTC(2026, 0, 2, 3, 4, 5)

const linesOf = (file: string): ReadonlyArray<JsonObject> =>
  readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject)

/** Opens an audit, lets something be noted, and closes it: everything is in the file then. */
const audited = Effect.fnUntraced(function* (
  options: AuditFile.AuditFileOptions,
  use: (audit: AuditLog["Service"]) => void
) {
  const scope = yield* Scope.make()
  const audit = yield* Effect.provide(AuditLog, yield* Scope.provide(Layer.build(AuditFile.layer(options)), scope))
  use(audit)
  yield* Scope.close(scope, Exit.void)
  return audit
})

const live = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.live(title, () => Effect.scoped(body))

describe("an audit file", () => {
  live(
    "holds a JSON object per line and is readable by its owner only",
    Effect.gen(function* () {
      const file = join(yield* folder, "audit.jsonl")
      yield* audited({ file }, ({ record }) => {
        record({ time, fields: { type: "join", name: "desk\n", subject: undefined } })
        record({ time, fields: { type: "leave", name: "desk\n" } })
      })
      assert.deepStrictEqual(linesOf(file), [
        { time: "2026-01-02T03:04:05.000Z", type: "join", name: "desk\n" },
        { time: "2026-01-02T03:04:05.000Z", type: "leave", name: "desk\n" }
      ])
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    })
  )

  live(
    "holds equal digests for equal arguments, and never the arguments",
    Effect.gen(function* () {
      const file = join(yield* folder, "audit.jsonl")
      yield* audited({ file }, ({ record }) => {
        for (const params of [
          { a: "sesame", b: 1 },
          { b: 1, a: "sesame" },
          { a: "sesame", b: 2 }
        ]) {
          record({ time, fields: { type: "call" }, request: jsonBody({ tool_name: "t", params }) })
        }
        record({ time, fields: { type: "call" }, request: jsonBody({ computer: "c" }) })
      })
      const digests = linesOf(file).map(({ args_sha256 }) => args_sha256)
      const expected = createHash("sha256").update('{"a":"sesame","b":1}').digest("hex")
      assert.deepStrictEqual(digests.slice(0, 2), [expected, expected])
      assert.notStrictEqual(digests[2], expected)
      assert.isUndefined(digests[3])
      assert.notInclude(readFileSync(file, "utf8"), "sesame")
    })
  )

  live(
    "continues an existing file on a new line",
    Effect.gen(function* () {
      const file = join(yield* folder, "audit.jsonl")
      writeFileSync(file, '{"type":"old"}\n{"type":"torn')
      yield* audited({ file }, ({ record }) => record({ time, fields: { type: "new" } }))
      const lines = readFileSync(file, "utf8").trimEnd().split("\n")
      assert.deepStrictEqual(lines.slice(0, 2), ['{"type":"old"}', '{"type":"torn'])
      assert.include(lines[2], '"new"')
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    })
  )

  live(
    "rotates when it is full, and keeps the newest files complete",
    Effect.gen(function* () {
      const file = join(yield* folder, "audit.jsonl")
      for (let round = 0; round < 6; round++) {
        yield* audited({ file, maxBytes: 5000, keep: 2 }, ({ record }) => {
          for (let at = 0; at < 50; at++) record({ time, fields: { type: "x", n: round * 50 + at } })
        })
      }
      assert.isFalse(existsSync(`${file}.3`))
      const kept = [`${file}.2`, `${file}.1`, file].flatMap((name) => {
        assert.isAtMost(statSync(name).size, 5000)
        return linesOf(name).map(({ n }) => Number(n))
      })
      const first = kept[0] ?? 0
      assert.isAbove(first, 0)
      assert.deepStrictEqual(
        kept,
        Array.from({ length: 300 - first }, (_, at) => first + at)
      )
    })
  )

  live(
    "counts dropped events in the file and on the log when the queue is full",
    Effect.gen(function* () {
      const file = join(yield* folder, "audit.jsonl")
      const said: Array<unknown> = []
      const log = Logger.layer([Logger.make(({ message }) => void said.push(message))])
      const audit = yield* Effect.provide(
        audited({ file, maxQueued: 10 }, ({ record }) => {
          for (let n = 0; n < 25; n++) record({ time, fields: { type: "x", n } })
        }),
        log
      )
      assert.strictEqual(audit.lostCount(), 15)
      const lines = linesOf(file)
      assert.strictEqual(lines.filter(({ type }) => type === "x").length, 10)
      assert.deepInclude(
        lines.find(({ type }) => type === "lost"),
        { type: "lost", count: 15, total: 15 }
      )
      assert.match(JSON.stringify(said), /audit events dropped.*"dropped":15/)
    })
  )

  live(
    "warns of dropped events again when the clock was set back",
    withWallClock((change) =>
      Effect.gen(function* () {
        const file = join(yield* folder, "audit.jsonl")
        const warnings = yield* Queue.unbounded<unknown>()
        const log = Logger.layer([Logger.make(({ message }) => void Queue.offerUnsafe(warnings, message))])
        const layer = Layer.provide(AuditFile.layer({ file, maxQueued: 10 }), log)
        const { record } = yield* Effect.provide(AuditLog, yield* Layer.build(layer))
        for (let round = 0; round < 3; round++) {
          for (let n = 0; n < 25; n++) record({ time, fields: { type: "x", n } })
          assert.include(JSON.stringify(yield* Queue.take(warnings)), "audit events dropped")
          change(-Duration.toMillis("1 day"))
        }
      })
    )
  )

  live(
    "continues the full file with a warning when it cannot rotate",
    Effect.gen(function* () {
      const file = join(yield* folder, "audit.jsonl")
      // A folder where the full file should go: renaming to it fails.
      mkdirSync(`${file}.1`)
      const said: Array<unknown> = []
      const log = Logger.layer([Logger.make(({ message }) => void said.push(message))])
      const audit = yield* Effect.provide(
        audited({ file, maxBytes: 4096, keep: 1 }, ({ record }) => {
          for (let n = 0; n < 1500; n++) record({ time, fields: { type: "x", n } })
        }),
        log
      )
      assert.deepStrictEqual([audit.lostCount(), linesOf(file).length], [0, 1500])
      assert.match(JSON.stringify(said), /audit write problem.*cannot be renamed/)
    })
  )

  live(
    "counts events that a failing disk did not write",
    Effect.gen(function* () {
      const path = yield* folder
      const file = join(path, "gone", "audit.jsonl")
      mkdirSync(join(path, "gone"))
      const audit = yield* audited({ file, maxBytes: 4096 }, ({ record }) => {
        // The file that is open takes the first batch; there is no place for the next one.
        rmSync(join(path, "gone"), { recursive: true })
        for (let n = 0; n < 1800; n++) record({ time, fields: { type: "x", n } })
      })
      assert.strictEqual(audit.lostCount(), 1300)
    })
  )

  live(
    "fails with the reason when it cannot be opened",
    Effect.gen(function* () {
      const file = join(yield* folder, "missing", "audit.jsonl")
      const { message } = yield* Effect.flip(Layer.build(AuditFile.layer({ file })))
      assert.match(message, /^The audit .*audit\.jsonl cannot be written: ENOENT/)
    })
  )
})
