import { execFileSync, spawn } from "node:child_process"
import { createHash } from "node:crypto"
import {
  closeSync,
  copyFileSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { text as readText } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Logger, Queue, Result, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import * as AuditFile from "../../../src/adapters/audit/AuditFile.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import { a2c } from "../../main/processes.ts"
import { withWallClock } from "../../wallClock.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"

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

/** Waits until another process or fiber has made the file. */
const awaitFile = (file: string): Effect.Effect<void> =>
  Effect.suspend(() => (existsSync(file) ? Effect.void : Effect.andThen(Effect.sleep(10), awaitFile(file))))

/** A program that writes two joins to the audit of its arguments, which rotates after each. */
const program = `
  import { Effect, Layer } from ${JSON.stringify(import.meta.resolve("effect"))}
  import { layer } from ${JSON.stringify(new URL("../../../src/adapters/audit/AuditFile.ts", import.meta.url).href)}
  import { AuditLog } from ${JSON.stringify(new URL("../../../src/application/ports/AuditLog.ts", import.meta.url).href)}
  const use = AuditLog.use(({ record }) => Effect.sync(() => {
    for (const name of ["a", "b"]) record({ time: 0, fields: { type: "join", name } })
  }))
  await Effect.runPromise(Effect.provide(use, layer({ file: process.argv[2], maxBytes: 1 })))`

describe("an audit file", () => {
  it.live("is opened again on request, after another program has renamed it", () =>
    Effect.gen(function* () {
      const where = yield* temporaryFolder
      const file = join(where, "audit")
      const requests = yield* Queue.unbounded<void>()
      const audit = yield* Effect.provide(
        AuditLog,
        yield* Layer.build(AuditFile.layer({ file, reopen: Stream.fromQueue(requests) }))
      )
      audit.record({ time, fields: { type: "join", name: "old" } })
      while (statSync(file).size === 0) yield* Effect.sleep(10)
      for (const rotated of ["1", "2"]) {
        renameSync(file, join(where, rotated))
        yield* Queue.offer(requests, undefined)
        yield* awaitFile(file)
        assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      }
      assert.deepStrictEqual(
        linesOf(join(where, "1")).map(({ name }) => name),
        ["old"]
      )
      assert.strictEqual(audit.lostCount(), 0)
    })
  )

  it.live(
    "opens again when its command gets SIGHUP",
    () =>
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "audit")
        const server = yield* a2c("server", "--port", "0", "--audit", file)
        yield* server.prints("listening on ")
        renameSync(file, `${file}.old`)
        yield* server.signal("SIGHUP")
        yield* awaitFile(file)
        yield* server.signal("SIGTERM")
        assert.strictEqual(yield* server.ended, 0)
      }).pipe(Effect.scoped),
    60_000
  )

  it.live("rotates behind a link in its folder, and keeps the link", () =>
    Effect.gen(function* () {
      const where = yield* temporaryFolder
      mkdirSync(join(where, "data"))
      const [file, real] = [join(where, "audit"), join(where, "data", "log")]
      symlinkSync(real, file)
      for (const name of ["a", "b"]) {
        yield* audited({ file, maxBytes: 1 }, ({ record }) => record({ time, fields: { type: "join", name } }))
      }
      assert.deepStrictEqual(
        [`${real}.1`, real].map((path) => linesOf(path)[0]?.["name"]),
        ["a", "b"]
      )
      assert.isTrue(lstatSync(file).isSymbolicLink())
      assert.isFalse(existsSync(`${file}.1`))
    })
  )

  it.live("fails the start when it is a folder", () =>
    Effect.gen(function* () {
      const file = yield* temporaryFolder
      const { message } = yield* Effect.flip(Effect.scoped(Layer.build(AuditFile.layer({ file }))))
      assert.match(message, /cannot be written: EISDIR/)
    })
  )

  const startError = (file: string) =>
    Effect.map(Effect.flip(Effect.scoped(Layer.build(AuditFile.layer({ file })))), ({ message }) => message)

  /** The descriptors of this process by the start of what they lead to. */
  const ownDescriptors = (kind: string) =>
    readdirSync("/proc/self/fd").flatMap((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`).startsWith(kind) ? [Number(name)] : []
      } catch {
        return []
      }
    })

  for (const file of ["/dev/fd/998", "/proc/self/fd/998", "/dev/fd/99999999999"]) {
    it.live(`fails at the start for the closed descriptor ${file}`, () =>
      Effect.gen(function* () {
        assert.match(yield* startError(file), /cannot be written: descriptor \d+ is not open$/)
      })
    )
  }

  it.live("fails at the start for a descriptor that is open for reading only", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "input")
      writeFileSync(file, "")
      const descriptor = openSync(file, "r")
      assert.match(yield* startError(`/dev/fd/${descriptor}`), /is not open for writing$/)
      closeSync(descriptor)
    })
  )

  it.live.skipIf(process.platform !== "linux")("fails at the start for the descriptors of Node itself", () =>
    Effect.gen(function* () {
      const links = new Map<string, Array<number>>()
      // Stdout and stderr may lead to one pipe.
      for (const descriptor of ownDescriptors("pipe:").filter((one) => one > 2)) {
        const { ino } = fstatSync(descriptor)
        links.set(String(ino), [...(links.get(String(ino)) ?? []), descriptor])
      }
      const pairs = [...links.values()].filter(({ length }) => length === 2).flat()
      assert.isNotEmpty(pairs)
      for (const descriptor of [...pairs, ...ownDescriptors("anon_inode:")]) {
        assert.match(
          yield* startError(`/dev/fd/${descriptor}`),
          /is used by this program itself$|is not open for writing$/
        )
      }
    })
  )

  it.live("fails at the start for the path of a socket", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "socket")
      const server = createServer()
      yield* Effect.promise(() => new Promise<void>((resolve) => void server.listen(file, resolve)))
      assert.match(yield* startError(file), /it is a socket/)
      server.close()
    })
  )

  it.live("fails at the start for /dev/tty without a terminal", () =>
    Effect.gen(function* () {
      const script = join(yield* temporaryFolder, "write.mjs")
      writeFileSync(script, program)
      const child = spawn(process.execPath, [script, "/dev/tty"], {
        detached: true,
        stdio: ["ignore", "ignore", "pipe"]
      })
      assert.include(yield* Effect.promise(() => readText(child.stderr)), "/dev/tty needs a terminal")
    })
  )

  it.live("gives the reader of a pipe all lines, also beyond its capacity", () =>
    Effect.gen(function* () {
      const pipe = join(yield* temporaryFolder, "audit")
      execFileSync("mkfifo", [pipe])
      const held = openSync(pipe, "r+")
      const reader = spawn("cat", [pipe], { stdio: ["ignore", "pipe", "ignore"] })
      const text = Effect.promise(() => readText(reader.stdout))
      const reading = yield* Effect.forkChild(text, { startImmediately: true })
      const audit = yield* audited({ file: pipe }, ({ record }) => {
        for (let at = 0; at < 2000; at++) record({ time, fields: { type: "join", name: "x".repeat(200) } })
      })
      closeSync(held)
      assert.strictEqual((yield* Fiber.join(reading)).split("\n").length, 2001)
      assert.strictEqual(audit.lostCount(), 0)
    })
  )

  it.live("drops and counts the events of a pipe without a reader, and does not wait", () =>
    Effect.gen(function* () {
      const pipe = join(yield* temporaryFolder, "audit")
      execFileSync("mkfifo", [pipe])
      const audit = yield* audited({ file: pipe }, ({ record }) => record({ time, fields: { type: "join" } }))
      assert.strictEqual(audit.lostCount(), 1)
    })
  )

  for (const [title, redirect] of [
    ["a socket or pipe", "/dev/stdout"],
    ["another process", "/dev/stdout | cat"],
    ["stderr", "/dev/stderr 2>&1"],
    ["a descriptor", "/dev/fd/9 9>&1"]
  ] as const) {
    it.live(`writes to ${title} of the process by ${redirect}`, () =>
      Effect.gen(function* () {
        const script = join(yield* temporaryFolder, "write.mjs")
        writeFileSync(script, program)
        const command = `'${process.execPath}' '${script}' ${redirect}`
        const child = spawn("bash", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] })
        const lines = (yield* Effect.promise(() => readText(child.stdout))).trim().split("\n")
        assert.deepStrictEqual(
          lines.map((line) => (JSON.parse(line) as JsonObject)["name"]),
          ["a", "b"]
        )
      })
    )
  }

  it.live("leaves a file to which stdout is redirected as it is", () =>
    Effect.gen(function* () {
      const where = yield* temporaryFolder
      const [script, out] = [join(where, "write.mjs"), join(where, "out")]
      writeFileSync(script, program)
      writeFileSync(out, "", { mode: 0o644 })
      execFileSync("bash", ["-c", `'${process.execPath}' '${script}' /dev/stdout >> '${out}'`])
      assert.strictEqual(statSync(out).mode & 0o777, 0o644)
      assert.lengthOf(linesOf(out), 2)
      assert.deepStrictEqual(readdirSync(where).toSorted(), ["out", "write.mjs"])
    })
  )

  for (const target of ["pipe", "link to a device", "link to a pipe"]) {
    it.live(`keeps the mode of a ${target}, and does not rotate it`, () =>
      Effect.gen(function* () {
        const where = yield* temporaryFolder
        const file = join(where, "audit")
        const pipe = target === "pipe" ? file : join(where, "other")
        execFileSync("mkfifo", ["-m", "622", pipe])
        if (target !== "pipe") symlinkSync(target === "link to a device" ? "/dev/null" : pipe, file)
        const { mode } = statSync(file)
        yield* audited({ file, maxBytes: 1 }, ({ record }) => {
          for (const name of ["a", "b"]) record({ time, fields: { type: "join", name } })
        })
        assert.strictEqual(statSync(file).mode, mode)
        assert.isFalse(existsSync(`${file}.1`))
      })
    )
  }

  it.live("holds a JSON object per line and is readable by its owner only", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
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

  it.live("holds equal digests for equal arguments, and never the arguments", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
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

  it.live("continues an existing file on a new line", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
      writeFileSync(file, '{"type":"old"}\n{"type":"torn')
      yield* audited({ file }, ({ record }) => record({ time, fields: { type: "new" } }))
      const lines = readFileSync(file, "utf8").trimEnd().split("\n")
      assert.deepStrictEqual(lines.slice(0, 2), ['{"type":"old"}', '{"type":"torn'])
      assert.include(lines[2], '"new"')
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    })
  )

  it.live("rotates when it is full, and keeps the newest files complete", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
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

  /** The lines of the two files of an audit with 1000 bytes each; another program changes the first one after a long line. */
  const changed = Effect.fnUntraced(function* (length: number, change: (file: string) => void) {
    const file = join(yield* temporaryFolder, "audit.jsonl")
    const scope = yield* Scope.make()
    const audit = yield* Effect.provide(
      AuditLog,
      yield* Scope.provide(Layer.build(AuditFile.layer({ file, maxBytes: 1000 })), scope)
    )
    audit.record({ time, fields: { type: "old", fill: "x".repeat(length) } })
    while (statSync(file).size === 0) yield* Effect.sleep(10)
    change(file)
    audit.record({ time, fields: { type: "new" } })
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(audit.lostCount(), 0)
    return [file, `${file}.1`].map((name) => (existsSync(name) ? linesOf(name).map(({ type }) => type) : []))
  })

  it.live.each<[string, number, (file: string) => void, unknown]>([
    ["does not rotate what another program truncated", 900, (file) => truncateSync(file), [["new"], []]],
    [
      "does not rotate after logrotate's copytruncate",
      900,
      (file) => {
        copyFileSync(file, `${file}.copy`)
        truncateSync(file)
      },
      [["new"], []]
    ],
    [
      "does not rotate what another program shortened",
      900,
      (file) => writeFileSync(file, '{"type":"short"}\n'),
      [["short", "new"], []]
    ],
    [
      "rotates what another program filled",
      0,
      (file) => writeFileSync(file, `{"type":"long","fill":"${"x".repeat(990)}"}\n`),
      [["new"], ["long"]]
    ]
  ])("%s", ([, length, change, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* changed(length, change), expected)
    }).pipe(Effect.scoped)
  )

  it.live("counts dropped events in the file and on the log when the queue is full", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
      const logged: Array<unknown> = []
      const log = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
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
      assert.match(JSON.stringify(logged), /audit events dropped.*"dropped":15/)
    })
  )

  it.live("warns of dropped events again when the clock was set back", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const file = join(yield* temporaryFolder, "audit.jsonl")
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

  it.live("continues the full file with a warning when it cannot rotate", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "audit.jsonl")
      // A folder where the full file should go: renaming to it fails.
      mkdirSync(`${file}.1`)
      const logged: Array<unknown> = []
      const log = Logger.layer([Logger.make(({ message }) => void logged.push(message))])
      const audit = yield* Effect.provide(
        audited({ file, maxBytes: 4096, keep: 1 }, ({ record }) => {
          for (let n = 0; n < 1500; n++) record({ time, fields: { type: "x", n } })
        }),
        log
      )
      assert.deepStrictEqual([audit.lostCount(), linesOf(file).length], [0, 1500])
      assert.match(JSON.stringify(logged), /audit write problem.*cannot be renamed/)
    })
  )

  it.live("counts events that a failing disk did not write", () =>
    Effect.gen(function* () {
      const path = yield* temporaryFolder
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

  it.live("fails with the reason when it cannot be opened", () =>
    Effect.gen(function* () {
      const file = join(yield* temporaryFolder, "missing", "audit.jsonl")
      const { message } = yield* Effect.flip(Layer.build(AuditFile.layer({ file })))
      assert.match(message, /^The audit .*audit\.jsonl cannot be written: ENOENT/)
    })
  )
})

/** An open audit with its log lines. `close` flushes it; so does the end of the test. */
const opened = Effect.fnUntraced(function* (options: AuditFile.AuditFileOptions) {
  const lines = yield* Queue.unbounded<string>()
  const log = Logger.layer([Logger.make(({ message }) => void Queue.offerUnsafe(lines, JSON.stringify(message)))])
  const scope = yield* Scope.make()
  const layer = Layer.provideMerge(AuditFile.layer(options), log)
  const audit = yield* Effect.provide(AuditLog, yield* Scope.provide(Layer.build(layer), scope))
  const close = Scope.close(scope, Exit.void)
  yield* Effect.addFinalizer(() => close)
  return { ...audit, close, logged: Queue.take(lines), rest: Queue.clear(lines) }
})

/** A request that counts as this many bytes of memory. */
const requestOf = (bytes: number, onRead: () => void = () => {}): Body => ({
  ...jsonBody({}),
  value: () => {
    onRead()
    return Result.succeed({})
  },
  byteLength: () => bytes
})

const mebibyte = 1024 * 1024

const event = (n: number) => ({ time, fields: { type: "x", n } })

const lostIn = (file: string) =>
  linesOf(file)
    .filter(({ type }) => type === "lost")
    .map(({ count, total }) => [count, total])

/** A test with a test clock, and with a path for the audit. */
const paused = (title: string, body: (file: string) => Effect.Effect<void, unknown, Scope.Scope>) =>
  it.effect(title, () => Effect.scoped(Effect.flatMap(temporaryFolder, (path) => body(join(path, "audit.jsonl")))))

/** Observes a method of all files. */
const spyOnFiles = (name: "appendFile" | "chmod") =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      await using handle = await open(import.meta.filename)
      return vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, name)
    }),
    (spy) => Effect.sync(() => spy.mockRestore())
  )

describe("the queue of an audit", () => {
  paused("holds requests of 64 MiB and drops more", (file) =>
    Effect.gen(function* () {
      const { close, lostCount, record } = yield* opened({ file })
      for (const n of [1, 2]) record({ ...event(n), request: requestOf(32 * mebibyte) })
      assert.strictEqual(lostCount(), 0)
      record({ ...event(3), request: requestOf(1) })
      assert.strictEqual(lostCount(), 1)
      record(event(4))
      yield* close
      assert.deepStrictEqual(
        linesOf(file).flatMap(({ n }) => n ?? []),
        [1, 2, 4]
      )
    })
  )

  paused("takes more requests after a write", (file) =>
    Effect.gen(function* () {
      const { close, lostCount, record } = yield* opened({ file })
      const isTaken = yield* Deferred.make<void>()
      const request = requestOf(64 * mebibyte, () => Deferred.doneUnsafe(isTaken, Exit.void))
      record({ ...event(1), request })
      yield* TestClock.adjust("50 millis")
      yield* Deferred.await(isTaken)
      record({ ...event(2), request })
      assert.strictEqual(lostCount(), 0)
      yield* close
    })
  )

  paused("is written in batches of at most 4 MiB and one request", (file) =>
    Effect.gen(function* () {
      // Each batch starts a file.
      const { close, record } = yield* opened({ file, maxBytes: 1 })
      for (let n = 0; n < 8; n++) record({ ...event(n), request: requestOf(mebibyte) })
      yield* close
      assert.deepStrictEqual(
        [`${file}.1`, file].map((name) => linesOf(name).length),
        [5, 3]
      )
    })
  )

  paused("is written in batches of 500 events, without empty lines between them", (file) =>
    Effect.gen(function* () {
      const { close, record, rest } = yield* opened({ file })
      for (let n = 0; n < 501; n++) record(event(n))
      yield* close
      assert.strictEqual(linesOf(file).length, 501)
      assert.deepStrictEqual(yield* rest, [])
    })
  )
})

describe("the size of an audit file", () => {
  const line = `${JSON.stringify({ time: new Date(time).toISOString(), type: "x", n: 1 })}\n`

  for (const [title, maxBytes, isRotated] of [
    ["reaches its maximum without a rotation", 2 * line.length, false],
    ["never exceeds its maximum", 2 * line.length - 1, true]
  ] as const) {
    paused(title, (file) =>
      Effect.gen(function* () {
        writeFileSync(file, line)
        yield* audited({ file, maxBytes }, ({ record }) => record(event(1)))
        assert.strictEqual(existsSync(`${file}.1`), isRotated)
      })
    )
  }
})

describe("a loss of audit events", () => {
  /** Loses one of two events. */
  const overflow = ({ record }: Pick<AuditLog["Service"], "record">) => [1, 2].map(event).forEach(record)

  for (const [millis, warnings] of [
    [9999, 0],
    [10_000, 1]
  ] as const) {
    paused(`causes ${warnings} further warnings after ${millis} ms`, (file) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 day")
        const audit = yield* opened({ file, maxQueued: 1 })
        overflow(audit)
        yield* TestClock.adjust("50 millis")
        assert.match(yield* audit.logged, /audit events dropped.*"dropped":1,"reason":"the queue was full"/)
        yield* TestClock.adjust(millis)
        overflow(audit)
        yield* audit.close
        assert.strictEqual((yield* audit.rest).length, warnings)
      })
    )
  }

  paused("is recorded in the file with its count and the total", (file) =>
    Effect.gen(function* () {
      const audit = yield* opened({ file, maxQueued: 1 })
      overflow(audit)
      yield* TestClock.adjust("50 millis")
      yield* audit.logged
      overflow(audit)
      yield* audit.close
      assert.deepStrictEqual(lostIn(file), [
        [1, 1],
        [1, 2]
      ])
    })
  )
})

describe("a disk that fails for a time", () => {
  /** An audit whose file is full, in a folder that is gone. `restore` makes the folder again. */
  const withoutFolder = Effect.fnUntraced(function* (file: string) {
    const path = `${file}.folder`
    const restore = () => mkdirSync(path)
    const inside = join(path, "audit.jsonl")
    restore()
    writeFileSync(inside, "{}\n")
    const audit = yield* opened({ file: inside, maxBytes: 1 })
    rmSync(path, { recursive: true })
    return { ...audit, file: inside, restore }
  })

  paused("causes a record of the loss in the file that is made afterwards", (path) =>
    Effect.gen(function* () {
      const { close, file, logged, record, restore } = yield* withoutFolder(path)
      record(event(1))
      yield* TestClock.adjust("50 millis")
      assert.match(yield* logged, /audit events dropped.*"dropped":1,"reason":"ENOENT/)
      restore()
      yield* close
      assert.deepStrictEqual(lostIn(file), [[1, 1]])
    })
  )

  paused("causes another write after a second, without further events", (path) =>
    Effect.gen(function* () {
      const { logged, lostCount, record, restore } = yield* withoutFolder(path)
      let isTaken = false
      const request = requestOf(1, () => (isTaken = true))
      // The last event is not in the first batch, which is lost.
      for (let n = 0; n <= 500; n++) record(n < 500 ? event(n) : { ...event(n), request })
      yield* TestClock.adjust("50 millis")
      yield* logged
      restore()
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([lostCount(), isTaken], [500, false])
      yield* TestClock.adjust("51 millis")
      assert.isTrue(isTaken)
    })
  )

  paused("leaves half a line, and the next line is complete", (file) =>
    Effect.gen(function* () {
      const { close, logged, record } = yield* opened({ file })
      const spy = yield* spyOnFiles("appendFile")
      spy.mockImplementationOnce(async function (this: FileHandle) {
        await this.write('{"half')
        throw new Error("the disk is full")
      })
      record(event(1))
      yield* TestClock.adjust("50 millis")
      assert.match(yield* logged, /the disk is full/)
      record(event(2))
      yield* close
      const [half, ...complete] = readFileSync(file, "utf8").trimEnd().split("\n")
      assert.strictEqual(half, '{"half')
      assert.deepStrictEqual(
        complete.map((text) => (JSON.parse(text) as JsonObject)["type"]),
        ["lost", "x"]
      )
    })
  )
})

describe("the handle of an audit file", () => {
  /** The descriptors of the files whose permissions were set; -1 for a closed file. */
  const descriptors = ({ mock }: Effect.Success<ReturnType<typeof spyOnFiles>>) =>
    mock.contexts.map((handle) => (handle as FileHandle).fd)

  paused("is open until the audit is closed", (file) =>
    Effect.gen(function* () {
      const spy = yield* spyOnFiles("chmod")
      const { close } = yield* opened({ file })
      assert.isAtLeast(descriptors(spy)[0] ?? -1, 0)
      yield* close
      assert.deepStrictEqual(descriptors(spy), [-1])
    })
  )

  paused("is closed when the permissions of the file cannot be set", (file) =>
    Effect.gen(function* () {
      const spy = yield* spyOnFiles("chmod")
      spy.mockRejectedValueOnce(new Error("not permitted"))
      const { _tag, message } = yield* Effect.flip(Layer.build(AuditFile.layer({ file })))
      assert.strictEqual(_tag, "AuditFileError")
      assert.match(message, /not permitted/)
      assert.deepStrictEqual(descriptors(spy), [-1])
    })
  )
})
