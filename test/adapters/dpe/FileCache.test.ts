import { chmod, mkdir, readdir, rm, stat, utimes, writeFile } from "node:fs/promises"
import { basename, dirname, extname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { type FileCacheOptions, makeFileCache } from "../../../src/adapters/dpe/FileCache.ts"
import type { DpeRequest, ResolveDpe } from "../../../src/application/computer/ComputerSettings.ts"
import { temporaryFolder } from "../../temporaryFolder.ts"
import { bytesAt, requestOf, textRequest } from "./requests.ts"
import { type TestBody, effectWith } from "../../testWith.ts"

const promise = <A>(run: () => Promise<A>) => Effect.promise(run)
const modeOf = (path: string) =>
  Effect.map(
    promise(() => stat(path)),
    ({ mode }) => mode & 0o777
  )
const namesIn = (folder: string) => promise(() => readdir(folder))

/** A cache in a temporary folder; `put` advances the clock by a minute and returns the file name. */
const open = Effect.fnUntraced(function* (options: Partial<FileCacheOptions> = {}) {
  const folder = join(yield* temporaryFolder, "documents")
  const resolve = yield* makeFileCache({ folder, ...options })
  const put = (text: string, cache: ResolveDpe = resolve) => fileOf(cache, textRequest(text))
  return { folder, resolve, put, reopen: (again = options) => makeFileCache({ folder, ...again }) }
})

const fileOf = Effect.fnUntraced(function* (resolve: ResolveDpe, request: DpeRequest) {
  yield* TestClock.adjust("1 minute")
  return basename(fileURLToPath((yield* resolve(request)).uri))
})

type Opened = Effect.Success<ReturnType<typeof open>>
const effect = (title: string, options: Partial<FileCacheOptions>, body: TestBody<Opened>) =>
  effectWith(open(options))(title, body)

const kilobyte = (letter: string) => letter.repeat(1000)

describe("FileCache folder", () => {
  it.effect("creates the folder, its parents and its files for this user only", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, "a", "b")
      const resolve = yield* makeFileCache({ folder })
      const file = fileURLToPath((yield* resolve(textRequest("x"))).uri)
      assert.deepStrictEqual(
        [yield* modeOf(dirname(folder)), yield* modeOf(folder), yield* modeOf(file)],
        [0o700, 0o700, 0o600]
      )
    })
  )

  it.effect("rejects a folder that others can access, without changing it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      yield* promise(() => chmod(folder, 0o750))
      const { message } = yield* Effect.flip(makeFileCache({ folder }))
      assert.match(message, /other users can access it.*chmod 700/)
      assert.include(message, folder)
      assert.strictEqual(yield* modeOf(folder), 0o750)
    })
  )

  it.effect("rejects a folder of another user and a shared one", () =>
    Effect.gen(function* () {
      assert.match((yield* Effect.flip(makeFileCache({ folder: "/" }))).message, /another user|other users/)
    })
  )

  it.effect("rejects a file", () =>
    Effect.gen(function* () {
      const folder = join(yield* temporaryFolder, "file")
      yield* promise(() => writeFile(folder, ""))
      const { message } = yield* Effect.flip(makeFileCache({ folder }))
      assert.include(message, `Cannot use the folder ${folder} for documents: EEXIST`)
    })
  )

  effect("fails with a message after the folder is removed", {}, function* ({ folder, resolve }) {
    yield* promise(() => rm(folder, { recursive: true }))
    const failure = yield* Effect.flip(resolve(textRequest("x")))
    assert.match(String(failure), /Cannot write a document into .*: ENOENT/)
  })
})

describe("FileCache file", () => {
  effect("stays inside the folder for every URI", {}, function* ({ folder, resolve }) {
    const found = yield* Effect.forEach(
      ["dpe://h/../../x", "dpe://h/a/b", "dpe://h/a\u0000b", `dpe://h/${"é".repeat(10_000)}`],
      (uri) => resolve(textRequest("x", uri))
    )
    const names = found.map(({ uri }) => basename(fileURLToPath(uri)))
    assert.sameMembers([...(yield* namesIn(folder))], names)
    assert.sameMembers([...(yield* namesIn(dirname(folder)))], [basename(folder)])
  })

  effect("has the extension of its MIME type, or bin", {}, function* ({ resolve }) {
    const extensionOf = (mimeType: string) =>
      Effect.map(fileOf(resolve, requestOf([{ blob: "aGk=", mimeType }])), extname)
    const expected = {
      "application/pdf": ".pdf",
      "Application/JSON; charset=utf-8": ".json",
      "application/vnd.api+json": ".json",
      "image/svg+xml": ".svg",
      "application/atom+xml": ".xml",
      "text/x-anything": ".txt",
      "application/x-sh": ".bin",
      "constructor/__proto__": ".bin",
      "../../etc/passwd": ".bin"
    }
    for (const [mimeType, extension] of Object.entries(expected)) {
      assert.strictEqual(yield* extensionOf(mimeType), extension, mimeType)
    }
  })

  it.effect("has the same name in every cache", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* open(), yield* open()]
      assert.strictEqual(yield* one.put("a"), yield* other.put("a"))
    })
  )

  effect("reads complete while it is rewritten", {}, function* ({ folder, resolve }) {
    const request = textRequest("x".repeat(4_000_000))
    const { uri } = yield* resolve(request)
    const rounds = Array.from({ length: 15 }, (_, index) => index)
    const [sizes] = yield* Effect.all(
      [
        Effect.forEach(rounds, () => Effect.map(bytesAt(uri), (bytes) => bytes.byteLength)),
        Effect.forEach(rounds, () => resolve(request), { discard: true })
      ],
      { concurrency: "unbounded" }
    )
    assert.deepStrictEqual(new Set(sizes), new Set([4_000_000]))
    assert.strictEqual((yield* namesIn(folder)).length, 1)
  })

  effect("leaves no partial file when the rename fails", {}, function* ({ folder, put, resolve }) {
    const name = yield* put("x")
    yield* promise(() => rm(join(folder, name)))
    yield* promise(() => mkdir(join(folder, name, "in the way"), { recursive: true }))
    assert.match(String(yield* Effect.flip(resolve(textRequest("x")))), /Cannot write a document into/)
    assert.deepStrictEqual(yield* namesIn(folder), [name])
  })

  effect("restores damaged contents on the next request", {}, function* ({ folder, put, resolve }) {
    const name = yield* put("whole")
    yield* promise(() => writeFile(join(folder, name), "h"))
    const { uri } = yield* resolve(textRequest("whole"))
    assert.strictEqual(String(yield* bytesAt(uri)), "whole")
  })
})

describe("FileCache limit", () => {
  effect(
    "needs no additional room for a cached document",
    { maxBytes: 2000, maxFiles: 2 },
    function* ({ folder, put }) {
      const names = [yield* put(kilobyte("a")), yield* put(kilobyte("b"))]
      yield* put(kilobyte("b"))
      assert.sameMembers(yield* namesIn(folder), names)
    }
  )

  effect("holds for concurrent documents", { maxBytes: 3000 }, function* ({ folder, resolve }) {
    const letters = ["a", "b", "c", "d", "e", "f", "g", "h"]
    yield* Effect.forEach(letters, (letter) => resolve(textRequest(kilobyte(letter))), {
      concurrency: "unbounded"
    })
    assert.strictEqual((yield* namesIn(folder)).length, 3)
  })

  effect("evicts the oldest files beyond the byte limit", { maxBytes: 2500 }, function* ({ folder, put }) {
    yield* put(kilobyte("a"))
    const later = [yield* put(kilobyte("b")), yield* put(kilobyte("c"))]
    assert.sameMembers(yield* namesIn(folder), later)
  })

  effect("evicts as many files as necessary", { maxBytes: 2500 }, function* ({ folder, put }) {
    for (const letter of ["a", "b"]) yield* put(kilobyte(letter))
    const name = yield* put("x".repeat(2500))
    assert.sameMembers(yield* namesIn(folder), [name])
  })

  effect(
    "evicts the oldest files beyond the count limit, empty ones too",
    { maxFiles: 2 },
    function* ({ folder, resolve }) {
      const names: Array<string> = []
      for (const id of ["a", "b", "c", "d"]) names.push(yield* fileOf(resolve, textRequest("", `dpe://h/${id}`)))
      assert.sameMembers(yield* namesIn(folder), names.slice(2))
    }
  )

  effect(
    "refreshes the age of a repeated document and counts it once",
    { maxBytes: 2500 },
    function* ({ folder, put }) {
      const first = yield* put(kilobyte("a"))
      yield* put(kilobyte("b"))
      yield* put(kilobyte("a"))
      const last = yield* put(kilobyte("c"))
      assert.sameMembers(yield* namesIn(folder), [first, last])
    }
  )

  effect("applies to files of an earlier cache, by age", {}, function* ({ folder, put, reopen }) {
    const names: Array<string> = []
    for (const letter of ["a", "b", "c", "d"]) names.push(yield* put(kilobyte(letter)))
    const again = yield* reopen({ maxBytes: 2500 })
    assert.sameMembers(yield* namesIn(folder), names.slice(2))
    const last = yield* put(kilobyte("e"), again)
    assert.sameMembers(yield* namesIn(folder), [...names.slice(3), last])
  })

  effect("removes an expired document with the next request", { maxAge: "1 hour" }, function* ({ folder, put }) {
    const first = yield* put("a")
    yield* TestClock.adjust("58 minutes")
    const second = yield* put("b")
    assert.sameMembers(yield* namesIn(folder), [first, second])
    const third = yield* put("c")
    assert.sameMembers(yield* namesIn(folder), [second, third])
  })

  effect("removes an expired document when the cache opens", {}, function* ({ folder, put, reopen }) {
    const name = yield* put("a")
    yield* TestClock.adjust("167 hours")
    yield* reopen()
    assert.deepStrictEqual(yield* namesIn(folder), [name])
    yield* TestClock.adjust("1 hour")
    yield* reopen()
    assert.deepStrictEqual(yield* namesIn(folder), [])
  })

  effect("ignores files that the cache did not write", {}, function* ({ folder, put, reopen }) {
    const hash = "0".repeat(64)
    const foreign = ["thesis.txt", hash, `${hash}.pdf.bak`, `x${hash}.pdf`, ".part"]
    yield* promise(() => mkdir(join(folder, `${hash}.pdf`)))
    for (const name of foreign) yield* promise(() => writeFile(join(folder, name), kilobyte("x")))
    yield* TestClock.adjust("30 days")
    const again = yield* reopen({ maxBytes: 100 })
    const own = [yield* put("mine", again), yield* put("too", again)]
    assert.sameMembers(yield* namesIn(folder), [...foreign, `${hash}.pdf`, ...own])
  })

  effect("removes abandoned partial files when the cache opens", {}, function* ({ folder, reopen }) {
    yield* TestClock.adjust("2 hours")
    const [abandoned, current] = ["a", "b"].map((letter) => `.${letter.repeat(36)}.part`) as [string, string]
    for (const [name, seconds] of [
      [abandoned, 60],
      [current, 7000]
    ] as const) {
      yield* promise(() => writeFile(join(folder, name), "half"))
      yield* promise(() => utimes(join(folder, name), seconds, seconds))
    }
    yield* reopen()
    assert.deepStrictEqual(yield* namesIn(folder), [current])
  })
})
