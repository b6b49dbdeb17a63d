import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { pollWhen } from "../../../../src/adapters/mcp/client/resourcePolling.ts"
import { type McpChange, McpSessionError } from "../../../../src/application/ports/McpSession.ts"

const failure = (reason: McpSessionError["reason"], message: string) => new McpSessionError({ reason, message })

/** A server whose states the test sets, and the changes that polling reports. */
const polling = Effect.fnUntraced(function* (isDegraded: boolean) {
  let list: Effect.Effect<string, McpSessionError> = Effect.succeed("a")
  const contents = new Map<string, Effect.Effect<string, McpSessionError>>()
  let reads = 0
  const reason = yield* Deferred.make<string>()
  const degrade = Deferred.succeed(reason, "polled")
  if (isDegraded) yield* degrade
  const changes: Array<string> = []
  const stream = yield* pollWhen(
    reason,
    {
      listResources: () => Effect.map(list, (name) => ({ items: [{ uri: name }], nextCursor: undefined })),
      readResource: (uri) =>
        Effect.suspend(() => {
          reads++
          return Effect.map(contents.get(uri) ?? Effect.succeed("old"), (text) => [{ text }])
        })
    },
    { resources: true, uris: ["test://one", "test://two"] }
  )
  const record = (change: McpChange) => void changes.push(change._tag === "ResourceUpdated" ? change.uri : change._tag)
  yield* Effect.forkScoped(Stream.runForEach(stream, (change) => Effect.sync(() => record(change))))
  yield* TestClock.adjust(0)
  return {
    initial: [...changes],
    degrade: Effect.andThen(degrade, TestClock.adjust(0)),
    reads: () => reads,
    setList: (next: typeof list) => void (list = next),
    set: (uri: string, next: typeof list) => void contents.set(uri, next),
    /** The changes of this time. */
    after: Effect.fnUntraced(function* (millis: number) {
      changes.length = 0
      yield* TestClock.adjust(millis)
      return [...changes]
    })
  }
})

describe("a resource that is polled", () => {
  it.effect("is compared every five seconds", () =>
    Effect.gen(function* () {
      const { after, initial, set, setList } = yield* polling(true)
      assert.deepStrictEqual(initial, [])
      set("test://two", Effect.succeed("new"))
      setList(Effect.succeed("b"))
      assert.deepStrictEqual(yield* after(4999), [])
      assert.sameMembers(yield* after(1), ["ResourcesChanged", "test://two"])
      assert.deepStrictEqual(yield* after(5000), [])
      set("test://one", Effect.succeed("new"))
      assert.deepStrictEqual(yield* after(5000), ["test://one"])
    })
  )

  it.effect("counts as changed when polling starts later, and is not read before", () =>
    Effect.gen(function* () {
      const { after, degrade, initial, reads, set } = yield* polling(false)
      assert.deepStrictEqual(initial, [])
      set("test://one", Effect.succeed("new"))
      assert.deepStrictEqual([yield* after(60_000), reads()], [[], 0])
      yield* degrade
      assert.deepStrictEqual([yield* after(0), reads()], [[], 2])
      assert.deepStrictEqual(yield* after(5000), [])
    })
  )

  it.effect("changes with an error of its server, and with the end of the error", () =>
    Effect.gen(function* () {
      const { after, set } = yield* polling(true)
      set("test://one", Effect.fail(failure("protocol", "gone")))
      assert.deepStrictEqual(yield* after(5000), ["test://one"])
      assert.deepStrictEqual(yield* after(5000), [])
      set("test://one", Effect.fail(failure("protocol", "still gone")))
      assert.deepStrictEqual(yield* after(5000), ["test://one"])
      set("test://one", Effect.succeed("old"))
      assert.deepStrictEqual(yield* after(5000), ["test://one"])
    })
  )

  it.effect("keeps its state while the server does not give it", () =>
    Effect.gen(function* () {
      const { after, set } = yield* polling(true)
      set("test://one", Effect.fail(failure("unavailable", "later")))
      assert.deepStrictEqual(yield* after(5000), [])
      set("test://one", Effect.succeed("old"))
      assert.deepStrictEqual(yield* after(5000), [])
    })
  )

  it.effect("waits 30 seconds for a read that hangs", () =>
    Effect.gen(function* () {
      const { after, reads, set } = yield* polling(true)
      set("test://one", Effect.never)
      yield* after(5000)
      const before = reads()
      yield* after(29_999)
      assert.strictEqual(reads(), before)
      yield* after(5001)
      assert.strictEqual(reads(), before + 2)
    })
  )
})
