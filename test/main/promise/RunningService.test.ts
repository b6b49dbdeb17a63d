import { setImmediate } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Layer, Queue, Stream } from "effect"
import { A2cError, ConfigInvalid } from "../../../src/main/A2cError.ts"
import { type LogLine, startService } from "../../../src/main/promise/RunningService.ts"
import { codeOf } from "./promiseOffice.ts"

class Probe extends Context.Service<Probe, { readonly name: string }>()("test/Probe") {}

/** A layer of a service, and what it acquires and releases; `after` runs before the service is there. */
const probed = (after: Effect.Effect<void, ConfigInvalid> = Effect.void) => {
  const seen: Array<string> = []
  const note = (what: string) => Effect.sync(() => void seen.push(what))
  const layer = Layer.effect(
    Probe,
    Effect.gen(function* () {
      yield* Effect.acquireRelease(note("acquired"), () => note("released"))
      yield* after
      return { name: "probe" }
    })
  )
  return { layer, note, seen }
}

const quiet = () => undefined

describe("a service that does not start", () => {
  it("releases what it has acquired, and rejects with its error", async () => {
    const failure = new ConfigInvalid({ message: "not so" })
    const { layer, seen } = probed(Effect.fail(failure))
    const error: unknown = await startService(Probe, layer, quiet).catch((reason: unknown) => reason)
    assert.instanceOf(error, A2cError)
    assert.deepInclude(error, { code: "config_invalid", message: "not so", cause: failure })
    assert.deepStrictEqual(seen, ["acquired", "released"])
  })

  it("releases what it has acquired when its signal aborts", async () => {
    const { promise: waits, resolve } = Promise.withResolvers<void>()
    const { layer, seen } = probed(Effect.andThen(Effect.sync(resolve), Effect.never))
    const ending = new AbortController()
    const starting = codeOf(startService(Probe, layer, quiet, ending))
    await waits
    ending.abort()
    assert.strictEqual(await starting, "aborted")
    assert.deepStrictEqual(seen, ["acquired", "released"])
  })

  it("acquires nothing when its signal has aborted before", async () => {
    const { layer, seen } = probed()
    assert.strictEqual(await codeOf(startService(Probe, layer, quiet, { signal: AbortSignal.abort() })), "aborted")
    assert.deepStrictEqual(seen, [])
  })
})

describe("a service that closes", () => {
  it("interrupts its work first, which may still use what it has acquired, and then releases that", async () => {
    const { layer, note, seen } = probed()
    const service = await startService(Probe, layer, quiet)
    const started = Deferred.makeUnsafe<void>()
    const work = codeOf(
      service.run(({ name }) =>
        Effect.onInterrupt(Effect.andThen(Deferred.succeed(started, undefined), Effect.never), () =>
          note(`${name} interrupted`)
        )
      )
    )
    await Effect.runPromise(Deferred.await(started))
    await Promise.all([service.close(), service.close()])
    assert.strictEqual(await work, "closed")
    assert.deepStrictEqual(seen, ["acquired", "probe interrupted", "released"])
    assert.strictEqual(await codeOf(service.run(() => Effect.void)), "closed")
    await service.close()
    assert.lengthOf(seen, 3)
  })

  it("has closed for each caller only once all is released", async () => {
    const { promise: gate, resolve: release } = Promise.withResolvers<void>()
    const layer = Layer.effect(
      Probe,
      Effect.acquireRelease(Effect.succeed({ name: "probe" }), () => Effect.promise(() => gate))
    )
    const service = await startService(Probe, layer, quiet)
    let closed = 0
    const closing = [1, 2].map(async () => {
      await service.close()
      closed++
    })
    for (let tick = 0; tick < 10; tick++) await setImmediate()
    assert.strictEqual(closed, 0)
    release()
    await Promise.all(closing)
  })

  it("ends its iterations, and rejects later ones", async () => {
    const { layer, note, seen } = probed()
    const service = await startService(Probe, layer, quiet)
    const values = Effect.runSync(Queue.unbounded<number>())
    Queue.offerUnsafe(values, 1)
    const numbers = service.iterate(() => Stream.ensuring(Stream.fromQueue(values), note("iteration ended")))
    const read: Array<number> = []
    const { promise: first, resolve } = Promise.withResolvers<void>()
    const reading = (async () => {
      for await (const value of numbers) {
        read.push(value)
        resolve()
      }
    })()
    await first
    await service.close()
    await reading
    assert.deepStrictEqual([read, seen.slice(0, 2)], [[1], ["acquired", "iteration ended"]])
    const later = async () => {
      for await (const value of service.iterate(() => Stream.make(2))) read.push(value)
    }
    assert.strictEqual(await codeOf(later()), "closed")
    assert.deepStrictEqual(read, [1])
  })

  it("keeps what its work acquires until then", async () => {
    const { layer, note, seen } = probed()
    const service = await startService(Probe, layer, quiet)
    await service.run(() => Effect.acquireRelease(note("work acquired"), () => note("work released")))
    assert.deepStrictEqual(seen, ["acquired", "work acquired"])
    await service.close()
    assert.deepStrictEqual(seen, ["acquired", "work acquired", "work released", "released"])
  })
})

describe("the log of a service", () => {
  it("has the level, the fields and the cause of each line", async () => {
    const lines: Array<LogLine> = []
    const service = await startService(Probe, probed().layer, (line) => void lines.push(line))
    await service.run(() =>
      Effect.andThen(
        Effect.logWarning("connection closed", { reason: "test" }),
        Effect.logError("it broke", Cause.die(new Error("because")))
      )
    )
    await service.close()
    const [warning, error] = lines
    assert.deepInclude(warning, {
      level: "Warn",
      message: ["connection closed", { reason: "test" }],
      cause: undefined
    })
    assert.instanceOf(warning?.date, Date)
    assert.deepStrictEqual([error?.level, error?.message], ["Error", ["it broke"]])
    assert.include(error?.cause, "because")
  })
})
