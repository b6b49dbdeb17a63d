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
  type Stats,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { type FileHandle, open } from "node:fs/promises"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { text as readText } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Layer, Logger, Queue, Result, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { vi } from "vitest"
import * as AuditFile from "../../../src/adapters/audit/AuditFile.ts"
import { AuditLog, type AuditRecorder } from "../../../src/application/ports/AuditLog.ts"
import { type Body, jsonBody } from "../../../src/application/ports/Body.ts"
import { a2c } from "../../main/processes.ts"
import { withWallClock } from "../../wallClock.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { until } from "../../until.ts"
import { effectWith, liveWith } from "../../testWith.ts"

const time = Date.UTC(2026, 0, 2, 3, 4, 5)

const linesOf = (text: string): ReadonlyArray<JsonObject> =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as JsonObject)
const linesIn = (file: string) => linesOf(readFileSync(file, "utf8"))
const namesOf = (text: string) => linesOf(text).map(({ name }) => name)
const namesIn = (file: string) => namesOf(readFileSync(file, "utf8"))

const event = (n: number) => ({ time, fields: { type: "x", n } })

/** Records events with these numbers. */
const recordNumbers = ({ record }: Pick<AuditRecorder, "record">, from: number, to: number) => {
  for (let n = from; n < to; n++) record(event(n))
}

/** Records joins of members with these names. */
const recordJoins = ({ record }: Pick<AuditRecorder, "record">, ...names: ReadonlyArray<string>) => {
  for (const name of names) record({ time, fields: { type: "join", name } })
}

/** An open audit with its log lines. `close` flushes it; so does the end of the test. */
const opened = Effect.fnUntraced(function* (options: AuditFile.AuditFileOptions) {
  const lines = yield* Queue.unbounded<string>()
  const log = Logger.layer([Logger.make(({ message }) => void Queue.offerUnsafe(lines, JSON.stringify(message)))])
  const scope = yield* Scope.make()
  const layer = Layer.provideMerge(AuditFile.layer(options), log)
  const audit = (yield* Effect.provide(AuditLog, yield* Scope.provide(Layer.build(layer), scope))) ?? assert.fail()
  const close = Scope.close(scope, Exit.void)
  yield* Effect.addFinalizer(() => close)
  return { ...audit, close, logged: Queue.take(lines), rest: Queue.clear(lines) }
})

/** Opens an audit, lets something be noted, and closes it: everything is in the file then. */
const audited = Effect.fnUntraced(function* (options: AuditFile.AuditFileOptions, use: (audit: AuditRecorder) => void) {
  const audit = yield* opened(options)
  use(audit)
  yield* audit.close
  return audit
})

const startError = (file: string) =>
  Effect.map(Effect.flip(Effect.scoped(Layer.build(AuditFile.layer({ file })))), ({ message }) => message)

/** Waits until a file exists that meets the condition. */
const awaitFile = (file: string, isReady: (stats: Stats) => boolean = () => true) =>
  until(() => existsSync(file) && isReady(statSync(file)))

const modeOf = (file: string): number => statSync(file).mode & 0o777

/** A program that writes two joins to the audit of its arguments, which rotates after each. */
const program = `
  import { Effect, Layer } from ${JSON.stringify(import.meta.resolve("effect"))}
  import { layer } from ${JSON.stringify(new URL("../../../src/adapters/audit/AuditFile.ts", import.meta.url).href)}
  import { AuditLog } from ${JSON.stringify(new URL("../../../src/application/ports/AuditLog.ts", import.meta.url).href)}
  const use = AuditLog.use(({ record }) => Effect.sync(() => {
    for (const name of ["a", "b"]) record({ time: 0, fields: { type: "join", name } })
  }))
  await Effect.runPromise(Effect.provide(use, layer({ file: process.argv[2], maxBytes: 1 })))`

/** Writes the program beside a file. */
const writeProgram = (file: string) => {
  const script = join(dirname(file), "write.mjs")
  writeFileSync(script, program)
  return script
}

const fileInFolder = Effect.map(temporaryFolder, (path) => join(path, "audit.jsonl"))

/** A test with the path of a file that does not exist, in a new folder. */
const live = liveWith(fileInFolder)

describe("an audit file", () => {
  live("is opened again on request, after another program has renamed it", function* (file) {
    const requests = yield* Queue.unbounded<void>()
    const audit = yield* opened({ file, reopen: Stream.fromQueue(requests) })
    recordJoins(audit, "old")
    yield* awaitFile(file, ({ size }) => size > 0)
    for (const rotated of ["1", "2"]) {
      renameSync(file, `${file}.${rotated}`)
      yield* Queue.offer(requests, undefined)
      yield* awaitFile(file)
      assert.strictEqual(modeOf(file), 0o600)
    }
    assert.deepStrictEqual(namesIn(`${file}.1`), ["old"])
    assert.strictEqual(audit.lostCount(), 0)
  })

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
      }),
    60_000
  )

  live("rotates behind a link in its folder, and keeps the link", function* (file) {
    const real = join(dirname(file), "data", "log")
    mkdirSync(dirname(real))
    symlinkSync(real, file)
    for (const name of ["a", "b"]) yield* audited({ file, maxBytes: 1 }, (audit) => recordJoins(audit, name))
    assert.deepStrictEqual([`${real}.1`, real].map(namesIn), [["a"], ["b"]])
    assert.isTrue(lstatSync(file).isSymbolicLink())
    assert.isFalse(existsSync(`${file}.1`))
  })

  const invalidFiles: ReadonlyArray<readonly [title: string, make: (file: string) => string, reason: RegExp]> = [
    ["a folder", dirname, /cannot be written: EISDIR/],
    [
      "a path in a missing folder",
      (file) => join(file, "audit.jsonl"),
      /^The audit .*audit\.jsonl cannot be written: ENOENT/
    ],
    ...["/dev/fd/998", "/proc/self/fd/998", "/dev/fd/99999999999"].map(
      (path) => [`the closed descriptor ${path}`, () => path, /cannot be written: descriptor \d+ is not open$/] as const
    )
  ]
  it.live.each(invalidFiles)("fails at the start for %s", ([, make, reason]) =>
    Effect.gen(function* () {
      assert.match(yield* startError(make(join(yield* temporaryFolder, "audit"))), reason)
    })
  )

  live("fails at the start for a descriptor that is open for reading only", function* (file) {
    writeFileSync(file, "")
    const descriptor = openSync(file, "r")
    assert.match(yield* startError(`/dev/fd/${descriptor}`), /is not open for writing$/)
    closeSync(descriptor)
  })

  /** The descriptors of this process by the start of what they lead to. */
  const ownDescriptors = (kind: string) =>
    readdirSync("/proc/self/fd").flatMap((name) => {
      try {
        return readlinkSync(`/proc/self/fd/${name}`).startsWith(kind) ? [Number(name)] : []
      } catch {
        return []
      }
    })

  it.live.skipIf(process.platform !== "linux")("fails at the start for the descriptors of Node itself", () =>
    Effect.gen(function* () {
      // Stdout and stderr may lead to one pipe.
      const pipes = ownDescriptors("pipe:").filter((one) => one > 2)
      const pairs = Object.values(Object.groupBy(pipes, (one) => String(fstatSync(one).ino)))
        .filter((ends) => ends?.length === 2)
        .flatMap((ends = []) => ends)
      assert.isNotEmpty(pairs)
      for (const descriptor of [...pairs, ...ownDescriptors("anon_inode:")]) {
        assert.match(
          yield* startError(`/dev/fd/${descriptor}`),
          /is used by this program itself$|is not open for writing$/
        )
      }
    })
  )

  live("fails at the start for the path of a socket", function* (file) {
    const server = createServer()
    yield* Effect.promise(() => new Promise<void>((resolve) => void server.listen(file, resolve)))
    assert.match(yield* startError(file), /it is a socket/)
    server.close()
  })

  live("fails at the start for /dev/tty without a terminal", function* (file) {
    const child = spawn(process.execPath, [writeProgram(file), "/dev/tty"], {
      detached: true,
      stdio: ["ignore", "ignore", "pipe"]
    })
    assert.include(yield* Effect.promise(() => readText(child.stderr)), "/dev/tty needs a terminal")
  })

  live("gives the reader of a pipe all lines, also beyond its capacity", function* (pipe) {
    execFileSync("mkfifo", [pipe])
    const held = openSync(pipe, "r+")
    const reader = spawn("cat", [pipe], { stdio: ["ignore", "pipe", "ignore"] })
    const text = Effect.promise(() => readText(reader.stdout))
    const reading = yield* Effect.forkChild(text, { startImmediately: true })
    const names = Array.from({ length: 2000 }, () => "x".repeat(200))
    const audit = yield* audited({ file: pipe }, (open) => recordJoins(open, ...names))
    closeSync(held)
    assert.strictEqual((yield* Fiber.join(reading)).split("\n").length, 2001)
    assert.strictEqual(audit.lostCount(), 0)
  })

  live("drops and counts the events of a pipe without a reader, and does not wait", function* (pipe) {
    execFileSync("mkfifo", [pipe])
    const audit = yield* audited({ file: pipe }, (open) => recordJoins(open, "a"))
    assert.strictEqual(audit.lostCount(), 1)
  })

  for (const [title, redirect] of [
    ["a socket or pipe", "/dev/stdout"],
    ["another process", "/dev/stdout | cat"],
    ["stderr", "/dev/stderr 2>&1"],
    ["a descriptor", "/dev/fd/9 9>&1"]
  ] as const) {
    live(`writes to ${title} of the process by ${redirect}`, function* (file) {
      const command = `'${process.execPath}' '${writeProgram(file)}' ${redirect}`
      const child = spawn("bash", ["-c", command], { stdio: ["ignore", "pipe", "ignore"] })
      assert.deepStrictEqual(namesOf(yield* Effect.promise(() => readText(child.stdout))), ["a", "b"])
    })
  }

  it.live("leaves a file to which stdout is redirected as it is", () =>
    Effect.gen(function* () {
      const file = yield* fileInFolder
      writeFileSync(file, "", { mode: 0o644 })
      execFileSync("bash", ["-c", `'${process.execPath}' '${writeProgram(file)}' /dev/stdout >> '${file}'`])
      assert.strictEqual(modeOf(file), 0o644)
      assert.deepStrictEqual(namesIn(file), ["a", "b"])
      assert.deepStrictEqual(readdirSync(dirname(file)).toSorted(), ["audit.jsonl", "write.mjs"])
    })
  )

  for (const target of ["pipe", "link to a device", "link to a pipe"]) {
    live(`keeps the mode of a ${target}, and does not rotate it`, function* (file) {
      const pipe = target === "pipe" ? file : `${file}.pipe`
      execFileSync("mkfifo", ["-m", "622", pipe])
      if (target !== "pipe") symlinkSync(target === "link to a device" ? "/dev/null" : pipe, file)
      const { mode } = statSync(file)
      yield* audited({ file, maxBytes: 1 }, (audit) => recordJoins(audit, "a", "b"))
      assert.strictEqual(statSync(file).mode, mode)
      assert.isFalse(existsSync(`${file}.1`))
    })
  }

  live("holds a JSON object per line and is readable by its owner only", function* (file) {
    yield* audited({ file }, ({ record }) => {
      record({ time, fields: { type: "join", name: "desk\n", subject: undefined } })
      record({ time, fields: { type: "leave", name: "desk\n" } })
    })
    assert.deepStrictEqual(linesIn(file), [
      { time: "2026-01-02T03:04:05.000Z", type: "join", name: "desk\n" },
      { time: "2026-01-02T03:04:05.000Z", type: "leave", name: "desk\n" }
    ])
    assert.strictEqual(modeOf(file), 0o600)
  })

  live("holds equal digests for equal arguments, and never the arguments", function* (file) {
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
    const digests = linesIn(file).map(({ args_sha256 }) => args_sha256)
    const expected = createHash("sha256").update('{"a":"sesame","b":1}').digest("hex")
    assert.deepStrictEqual(digests.slice(0, 2), [expected, expected])
    assert.notStrictEqual(digests[2], expected)
    assert.isUndefined(digests[3])
    assert.notInclude(readFileSync(file, "utf8"), "sesame")
  })

  live("continues an existing file on a new line", function* (file) {
    writeFileSync(file, '{"type":"old"}\n{"type":"torn')
    yield* audited({ file }, ({ record }) => record({ time, fields: { type: "new" } }))
    const lines = readFileSync(file, "utf8").trimEnd().split("\n")
    assert.deepStrictEqual(lines.slice(0, 2), ['{"type":"old"}', '{"type":"torn'])
    assert.include(lines[2], '"new"')
    assert.strictEqual(modeOf(file), 0o600)
  })

  live("rotates when it is full, and keeps the newest files complete", function* (file) {
    for (let from = 0; from < 300; from += 50) {
      yield* audited({ file, maxBytes: 5000, keep: 2 }, (audit) => recordNumbers(audit, from, from + 50))
    }
    assert.isFalse(existsSync(`${file}.3`))
    const kept = [`${file}.2`, `${file}.1`, file].flatMap((name) => {
      assert.isAtMost(statSync(name).size, 5000)
      return linesIn(name).map(({ n }) => Number(n))
    })
    const first = kept[0] ?? 0
    assert.isAbove(first, 0)
    assert.deepStrictEqual(
      kept,
      Array.from({ length: 300 - first }, (_, at) => first + at)
    )
  })

  /** The lines of the two files of an audit with 1000 bytes each; another program changes the first one after a long line. */
  const changed = Effect.fnUntraced(function* (length: number, change: (file: string) => void) {
    const file = join(yield* temporaryFolder, "audit.jsonl")
    const audit = yield* opened({ file, maxBytes: 1000 })
    audit.record({ time, fields: { type: "old", fill: "x".repeat(length) } })
    yield* awaitFile(file, ({ size }) => size > 0)
    change(file)
    audit.record({ time, fields: { type: "new" } })
    yield* audit.close
    assert.strictEqual(audit.lostCount(), 0)
    return [file, `${file}.1`].map((name) => (existsSync(name) ? linesIn(name).map(({ type }) => type) : []))
  })

  const copyAndTruncate = (file: string) => {
    copyFileSync(file, `${file}.copy`)
    truncateSync(file)
  }
  const shorten = (file: string) => writeFileSync(file, '{"type":"short"}\n')
  const fill = (file: string) => writeFileSync(file, `{"type":"long","fill":"${"x".repeat(990)}"}\n`)
  it.live.each<[string, number, (file: string) => void, unknown]>([
    ["does not rotate what another program truncated", 900, (file) => truncateSync(file), [["new"], []]],
    ["does not rotate after logrotate's copytruncate", 900, copyAndTruncate, [["new"], []]],
    ["does not rotate what another program shortened", 900, shorten, [["short", "new"], []]],
    ["rotates what another program filled", 0, fill, [["new"], ["long"]]]
  ])("%s", ([, length, change, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual<unknown>(yield* changed(length, change), expected)
    })
  )

  live("counts dropped events in the file and on the log when the queue is full", function* (file) {
    const audit = yield* audited({ file, maxQueued: 10 }, (open) => recordNumbers(open, 0, 25))
    assert.strictEqual(audit.lostCount(), 15)
    const lines = linesIn(file)
    assert.strictEqual(lines.filter(({ type }) => type === "x").length, 10)
    assert.deepInclude(
      lines.find(({ type }) => type === "lost"),
      { type: "lost", count: 15, total: 15 }
    )
    assert.match((yield* audit.rest).join(), /audit events dropped.*"dropped":15/)
  })

  live("warns of dropped events again when the clock was set back", function* (file) {
    yield* withWallClock((change) =>
      Effect.gen(function* () {
        const audit = yield* opened({ file, maxQueued: 10 })
        for (let round = 0; round < 3; round++) {
          recordNumbers(audit, 0, 25)
          assert.include(yield* audit.logged, "audit events dropped")
          change(-Duration.toMillis("1 day"))
        }
      })
    )
  })

  live("continues the full file with a warning when it cannot rotate", function* (file) {
    // A folder where the full file should go: renaming to it fails.
    mkdirSync(`${file}.1`)
    const audit = yield* audited({ file, maxBytes: 4096, keep: 1 }, (open) => recordNumbers(open, 0, 1500))
    assert.deepStrictEqual([audit.lostCount(), linesIn(file).length], [0, 1500])
    assert.match((yield* audit.rest).join(), /audit write problem.*cannot be renamed/)
  })

  live("counts events that a failing disk did not write", function* (path) {
    mkdirSync(path)
    const audit = yield* audited({ file: join(path, "audit.jsonl"), maxBytes: 4096 }, (open) => {
      // The file that is open takes the first batch; there is no place for the next one.
      rmSync(path, { recursive: true })
      recordNumbers(open, 0, 1800)
    })
    assert.strictEqual(audit.lostCount(), 1300)
  })
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

const lostIn = (file: string) =>
  linesIn(file)
    .filter(({ type }) => type === "lost")
    .map(({ count, total }) => [count, total])

/** A test with a test clock, and with a path for the audit. */
const effect = effectWith(fileInFolder)

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
  effect("holds requests of 64 MiB and drops more", function* (file) {
    const { close, lostCount, record } = yield* opened({ file })
    for (const n of [1, 2]) record({ ...event(n), request: requestOf(32 * mebibyte) })
    assert.strictEqual(lostCount(), 0)
    record({ ...event(3), request: requestOf(1) })
    assert.strictEqual(lostCount(), 1)
    record(event(4))
    yield* close
    assert.deepStrictEqual(
      linesIn(file).flatMap(({ n }) => n ?? []),
      [1, 2, 4]
    )
  })

  effect("takes more requests after a write", function* (file) {
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

  effect("is written in batches of at most 4 MiB and one request", function* (file) {
    // Each batch starts a file.
    const { close, record } = yield* opened({ file, maxBytes: 1 })
    for (let n = 0; n < 8; n++) record({ ...event(n), request: requestOf(mebibyte) })
    yield* close
    assert.deepStrictEqual(
      [`${file}.1`, file].map((name) => linesIn(name).length),
      [5, 3]
    )
  })

  effect("is written in batches of 500 events, without empty lines between them", function* (file) {
    const { close, record, rest } = yield* opened({ file })
    recordNumbers({ record }, 0, 501)
    yield* close
    assert.strictEqual(linesIn(file).length, 501)
    assert.deepStrictEqual(yield* rest, [])
  })
})

describe("the size of an audit file", () => {
  const line = `${JSON.stringify({ time: new Date(time).toISOString(), type: "x", n: 1 })}\n`

  for (const [title, maxBytes, isRotated] of [
    ["reaches its maximum without a rotation", 2 * line.length, false],
    ["never exceeds its maximum", 2 * line.length - 1, true]
  ] as const) {
    effect(title, function* (file) {
      writeFileSync(file, line)
      yield* audited({ file, maxBytes }, ({ record }) => record(event(1)))
      assert.strictEqual(existsSync(`${file}.1`), isRotated)
    })
  }
})

describe("a loss of audit events", () => {
  /** Loses one of two events. */
  const overflow = ({ record }: Pick<AuditRecorder, "record">) => [1, 2].map(event).forEach(record)

  for (const [millis, warnings] of [
    [9999, 0],
    [10_000, 1]
  ] as const) {
    effect(`causes ${warnings} further warnings after ${millis} ms`, function* (file) {
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
  }

  effect("is recorded in the file with its count and the total", function* (file) {
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

  effect("causes a record of the loss in the file that is made afterwards", function* (path) {
    const { close, file, logged, record, restore } = yield* withoutFolder(path)
    record(event(1))
    yield* TestClock.adjust("50 millis")
    assert.match(yield* logged, /audit events dropped.*"dropped":1,"reason":"ENOENT/)
    restore()
    yield* close
    assert.deepStrictEqual(lostIn(file), [[1, 1]])
  })

  effect("causes another write after a second, without further events", function* (path) {
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

  effect("leaves half a line, and the next line is complete", function* (file) {
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
    const text = readFileSync(file, "utf8")
    assert.isTrue(text.startsWith('{"half\n'))
    assert.deepStrictEqual(
      linesOf(text.slice(text.indexOf("\n") + 1)).map(({ type }) => type),
      ["lost", "x"]
    )
  })
})

describe("the handle of an audit file", () => {
  /** The descriptors of the files whose permissions were set; -1 for a closed file. */
  const descriptors = ({ mock }: Effect.Success<ReturnType<typeof spyOnFiles>>) =>
    mock.contexts.map((handle) => (handle as FileHandle).fd)

  effect("is open until the audit is closed", function* (file) {
    const spy = yield* spyOnFiles("chmod")
    const { close } = yield* opened({ file })
    assert.isAtLeast(descriptors(spy)[0] ?? -1, 0)
    yield* close
    assert.deepStrictEqual(descriptors(spy), [-1])
  })

  effect("is closed when the permissions of the file cannot be set", function* (file) {
    const spy = yield* spyOnFiles("chmod")
    spy.mockRejectedValueOnce(new Error("not permitted"))
    const { _tag, message } = yield* Effect.flip(Layer.build(AuditFile.layer({ file })))
    assert.strictEqual(_tag, "AuditFileError")
    assert.match(message, /not permitted/)
    assert.deepStrictEqual(descriptors(spy), [-1])
  })
})
