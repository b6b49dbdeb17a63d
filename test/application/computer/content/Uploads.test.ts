import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryLandingFolder } from "../../../adapters/uploads/MemoryLandingFolder.ts"
import { makeUploads, type Uploads } from "../../../../src/application/computer/content/Uploads.ts"
import { type OfficeCaller, officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import { LandingFolder } from "../../../../src/application/ports/files/LandingFolder.ts"
import type { CallRequest } from "../../../../src/domain/wire/calls.ts"

const caller = officeCaller("a", 1, true)

const target = { agent: "a", computer: "pc", reqId: "r" }

const folder = "/uploads"

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64")

/** Uploads into a folder in memory. */
const opened = Effect.fnUntraced(function* (options: { readonly maxBytes?: number } = {}) {
  const { files, layer, setFreeBytes } = makeMemoryLandingFolder()
  const uploads = yield* Effect.provide(makeUploads({ folder, ...options }), layer)
  const putBlob = (request: CallRequest<"putBlob">, by: OfficeCaller = caller) => uploads.putBlob(request, by)
  return { ...uploads, files, putBlob, setFreeBytes }
})

const declared = (bytes: Uint8Array): Pick<CallRequest<"putBlob">, "totalSize" | "sha256"> => ({
  totalSize: bytes.length,
  sha256: sha256Of(bytes)
})

const content = new Uint8Array(30).map((_, index) => index)

/** Sends the first chunk of {@link content} and gives its request. */
const begin = ({ putBlob }: Pick<Uploads, "putBlob">, more: Partial<CallRequest<"putBlob">> = {}) =>
  putBlob(
    {
      ...target,
      ...declared(content),
      chunkOffset: 0,
      eof: false,
      blob: base64(content.subarray(0, 10)),
      ...more
    },
    caller
  )

/** An upload of which the first chunk has arrived. */
const begun = Effect.gen(function* () {
  const uploads = yield* opened()
  return { ...uploads, uploadId: (yield* begin(uploads)).uploadId }
})
type Begun = Effect.Success<typeof begun>

/** The rest of {@link content}. */
const rest = (uploadId: string): CallRequest<"putBlob"> => ({
  ...target,
  uploadId,
  chunkOffset: 10,
  eof: true,
  blob: base64(content.subarray(10))
})

/** Sends content in chunks of this length. */
const send = Effect.fnUntraced(function* (
  { putBlob }: Pick<Uploads, "putBlob">,
  bytes: Uint8Array,
  step: number,
  more: Partial<CallRequest<"putBlob">> = {}
) {
  let uploadId: string | undefined
  for (let chunkOffset = 0; ; chunkOffset += step) {
    const part = bytes.subarray(chunkOffset, chunkOffset + step)
    const eof = chunkOffset + part.length === bytes.length
    const head = uploadId === undefined ? { ...declared(bytes), ...more } : { uploadId }
    const reply = yield* putBlob({ ...target, ...head, chunkOffset, eof, blob: base64(part) }, caller)
    assert.strictEqual(reply.chunkOffset, chunkOffset)
    uploadId = reply.uploadId
    if (eof) return reply
  }
})

const failureOf = <A>(
  effect: Effect.Effect<A, { readonly code: number; readonly details?: { readonly [key: string]: unknown } }>
) => Effect.map(Effect.flip(effect), ({ code, details }) => [code, details?.["reason"]])

describe("upload", () => {
  it.effect.prop(
    "lands as it was sent, in chunks of any length",
    [Schema.Uint8Array, Schema.Natural],
    ([bytes, step]) =>
      Effect.gen(function* () {
        const { files, ...uploads } = yield* opened()
        const whole = new Uint8Array([7, ...bytes])
        const reply = yield* send(uploads, whole, step + 1, { nameHint: "a.bin" })
        assert.deepInclude(reply, {
          landingPath: `${folder}/a.bin`,
          totalSize: whole.length,
          sha256: sha256Of(whole),
          reqId: "r"
        })
        assert.deepStrictEqual([...files], [[`${folder}/a.bin`, whole]])
      })
  )

  it.effect("is not visible under its name before its end", () =>
    Effect.gen(function* () {
      const { files, ...uploads } = yield* opened()
      const { landingPath, uploadId } = yield* begin(uploads, { nameHint: "a.bin" })
      assert.isUndefined(landingPath)
      assert.notInclude([...files.keys()], `${folder}/a.bin`)
      yield* uploads.putBlob(rest(uploadId))
      assert.deepStrictEqual([...files.keys()], [`${folder}/a.bin`])
    })
  )

  it.effect("takes only the last segment of a path as its name", () =>
    Effect.gen(function* () {
      const uploads = yield* opened()
      const { landingPath } = yield* send(uploads, content, 10, { nameHint: "../../etc/cron.d/job" })
      assert.strictEqual(landingPath, `${folder}/job`)
    })
  )

  it.effect("never replaces a file", () =>
    Effect.gen(function* () {
      const { files, ...uploads } = yield* opened()
      yield* send(uploads, content, 10, { nameHint: "a" })
      const { landingPath } = yield* send(uploads, content.subarray(1), 10, { nameHint: "a" })
      assert.strictEqual(landingPath, `${folder}/a (2)`)
      assert.deepStrictEqual(files.get(`${folder}/a`), content)
    })
  )

  it.effect("lands beside another upload in progress", () =>
    Effect.gen(function* () {
      const { files, ...uploads } = yield* opened()
      const other = content.toReversed()
      const first = yield* begin(uploads, { nameHint: "a" })
      yield* send(uploads, other, 7, { nameHint: "b" })
      yield* uploads.putBlob(rest(first.uploadId))
      assert.deepStrictEqual(
        files,
        new Map([
          [`${folder}/a`, content],
          [`${folder}/b`, other]
        ])
      )
    })
  )

  it.effect("is rejected as busy beside four others, until one ends", () =>
    Effect.gen(function* () {
      const uploads = yield* opened()
      const others = yield* Effect.forEach([1, 2, 3, 4], () => begin(uploads))
      assert.deepStrictEqual(yield* failureOf(begin(uploads)), [4019, "busy"])
      yield* uploads.putBlob(rest(others[0]?.uploadId ?? ""))
      yield* begin(uploads)
    })
  )

  it.effect("is rejected above the maximum size without writing a byte", () =>
    Effect.gen(function* () {
      const { files, ...uploads } = yield* opened({ maxBytes: 29 })
      assert.deepStrictEqual(yield* failureOf(begin(uploads)), [4019, "too_large"])
      assert.strictEqual(files.size, 0)
    })
  )

  it.effect("is rejected with another hash, and leaves nothing", () =>
    Effect.gen(function* () {
      const { files, ...uploads } = yield* opened()
      const sent = send(uploads, content, 10, { sha256: "0".repeat(64) })
      assert.deepStrictEqual(yield* failureOf(sent), [4019, "integrity"])
      assert.strictEqual(files.size, 0)
    })
  )

  const faulty =
    (reason: string, fault: Partial<CallRequest<"putBlob">> = {}) =>
    ({ putBlob, uploadId }: Begun) =>
      Effect.map(failureOf(putBlob({ ...rest(uploadId), ...fault })), (failure) =>
        assert.deepStrictEqual(failure, [4019, reason])
      )

  it.effect.each<[string, (begun: Begun) => Effect.Effect<unknown, unknown>]>([
    ["with a gap", faulty("range", { chunkOffset: 11 })],
    ["with a repeated chunk", faulty("range", { chunkOffset: 0 })],
    ["with an early end", faulty("range", { blob: base64(content.subarray(10, 20)) })],
    ["with content beyond the declared size", faulty("range", { blob: base64(content) })],
    ["with a chunk that is not base64", faulty("integrity", { blob: "no base64!" })],
    [
      "when the disk is full",
      (begun) =>
        Effect.andThen(
          Effect.sync(() => begun.setFreeBytes(5)),
          faulty("io_error")(begun)
        )
    ],
    ["without a chunk for two minutes", () => TestClock.adjust("2 minutes")],
    ["with a reset", ({ reset }) => reset]
  ])("ends %s, and leaves nothing", ([, end]) =>
    Effect.gen(function* () {
      const given = yield* begun
      yield* end(given)
      assert.strictEqual(given.files.size, 0)
      assert.deepStrictEqual(yield* failureOf(given.putBlob(rest(given.uploadId))), [4019, "invalid_upload"])
    })
  )

  it.effect.each(
    [
      officeCaller("b", 1, true),
      officeCaller("a", 2, true),
      officeCaller("operator:a", 1, true),
      officeCaller("A", 1, true)
    ].map((by) => [by])
  )("is unknown to another caller: %o", ([by]) =>
    Effect.gen(function* () {
      const { uploadId, ...uploads } = yield* begun
      const foreign = uploads.putBlob(rest(uploadId), by)
      assert.deepStrictEqual(yield* failureOf(foreign), [4019, "invalid_upload"])
      yield* uploads.putBlob(rest(uploadId))
    })
  )

  it.effect("stays while chunks arrive within two minutes", () =>
    Effect.gen(function* () {
      const { files, uploadId, ...uploads } = yield* begun
      yield* TestClock.adjust("119999 millis")
      assert.strictEqual(files.size, 1)
      const next = { ...rest(uploadId), eof: false, blob: base64(content.subarray(10, 20)) }
      yield* uploads.putBlob(next)
      yield* TestClock.adjust("119999 millis")
      yield* uploads.putBlob({ ...rest(uploadId), chunkOffset: 20, blob: base64(content.subarray(20)) })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual([...files.values()], [content])
    })
  )

  it.effect("frees its place after the idle time", () =>
    Effect.gen(function* () {
      const uploads = yield* opened()
      yield* Effect.forEach([1, 2, 3, 4], () => begin(uploads))
      yield* TestClock.adjust("2 minutes")
      yield* begin(uploads)
    })
  )

  it.effect("leaves nothing after the end of the Computer", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { files, ...uploads } = yield* Scope.provide(opened(), scope)
      yield* begin(uploads)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(files.size, 0)
    })
  )

  /** An upload that has begun, whose chunks take a second each. */
  const slowly = Effect.gen(function* () {
    const { files, layer } = makeMemoryLandingFolder()
    const landing = yield* Effect.provide(LandingFolder, layer)
    const slow = LandingFolder.of({
      ...landing,
      openPart: (path) =>
        Effect.map(landing.openPart(path), (part) => ({
          ...part,
          append: (bytes) => Effect.delay(part.append(bytes), "1 second")
        }))
    })
    const uploads = yield* Effect.provideService(makeUploads({ folder }), LandingFolder, slow)
    const beginning = yield* Effect.forkChild(begin(uploads))
    yield* TestClock.adjust("1 second")
    const { uploadId } = yield* Fiber.join(beginning)
    return { files, uploadId, uploads }
  })

  it.effect("ends for the chunks that wait while an earlier one fails", () =>
    Effect.gen(function* () {
      const { files, uploadId, uploads } = yield* slowly
      const wrong = { ...rest(uploadId), blob: base64(new Uint8Array(20)) }
      const failing = yield* Effect.forEach([wrong, rest(uploadId)], (chunk) =>
        Effect.forkChild(failureOf(uploads.putBlob(chunk, caller)))
      )
      yield* TestClock.adjust("2 seconds")
      const failures = yield* Effect.forEach(failing, Fiber.join)
      assert.deepStrictEqual(failures, [
        [4019, "integrity"],
        [4019, "invalid_upload"]
      ])
      assert.strictEqual(files.size, 0)
    })
  )

  it.effect("takes chunks that arrive together in their order", () =>
    Effect.gen(function* () {
      const { files, uploadId, uploads } = yield* slowly
      const middle = { ...rest(uploadId), eof: false, blob: base64(content.subarray(10, 20)) }
      const last = { ...rest(uploadId), chunkOffset: 20, blob: base64(content.subarray(20)) }
      const sent = yield* Effect.forEach([middle, last], (chunk) => Effect.forkChild(uploads.putBlob(chunk, caller)))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.joinAll(sent)
      assert.deepStrictEqual([...files.values()], [content])
    })
  )

  it.effect("is rejected while the Computer ends, and leaves nothing", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { files, uploadId, uploads } = yield* Scope.provide(slowly, scope)
      const middle = { ...rest(uploadId), eof: false, blob: base64(content.subarray(10, 20)) }
      yield* Effect.forkChild(Effect.exit(uploads.putBlob(middle, caller)), { startImmediately: true })
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void), { startImmediately: true })
      const late = yield* Effect.forkChild(failureOf(begin(uploads)), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(late), [4019, "forbidden"])
      yield* Fiber.join(closing)
      assert.strictEqual(files.size, 0)
    })
  )
})

describe("Computer with uploads", () => {
  it.effect("removes the parts of an earlier run at its start", () =>
    Effect.gen(function* () {
      const { files, layer } = makeMemoryLandingFolder()
      files.set(`${folder}/.7.part`, content)
      yield* Effect.provide(makeUploads({ folder }), layer)
      assert.strictEqual(files.size, 0)
    })
  )

  const { files, layer } = makeMemoryLandingFolder()

  it.effect.each([
    ["without a folder", Effect.provide(makeUploads(undefined), layer)],
    ["without access to files", makeUploads({ folder })]
  ] as const)("rejects all uploads %s, and writes nothing", ([, making]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* failureOf(begin(yield* making)), [4019, "forbidden"])
      assert.strictEqual(files.size, 0)
    })
  )
})
