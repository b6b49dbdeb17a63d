import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { afterAll } from "vitest"
import type { Attack } from "./Attack.ts"
import type { Measurements } from "./children/orders.ts"
import { revocableKey, goodKey, staleKey, wrongKey } from "./credentials.ts"
import { credentials } from "./rows/credentials.ts"
import { floods } from "./rows/floods.ts"
import { handshakes } from "./rows/handshakes.ts"
import { places } from "./rows/places.ts"
import { shapes } from "./rows/shapes.ts"
import { sizes } from "./rows/sizes.ts"
import { slow } from "./rows/slow.ts"
import { engines, Site } from "./Site.ts"
import { SlowHeads } from "./SlowHeads.ts"

/**
 * Maximum latency of 99 % of the witnesses' calls during an attack, in milliseconds, and per millisecond that they take
 * on this machine without an attack.
 */
const maxLatency = 500
const latencyFactor = 10

/** Memory that a Server may keep after an attack, in bytes: compiled code and caches. */
const maxGrowth = 16 * 1024 * 1024

/** The maximum duration of an attack, and of the recovery after it. */
const attackTime = "2 minutes"
const recoveryTime = "1 minute"

const alone = { connections: 2, sessions: 2, offices: 1, calls: 0 }

/** What only attackers occupy. */
const occupied = ["unauthenticated_connections", "backlog_bytes", "incomplete_bytes", "request_bytes"]

const rows: Array<{
  readonly row: Attack
  readonly seen: Measurements
  readonly heap: number
  readonly turn: number
}> = []
/** The heap of each Server before its first attack, by URL. */
const heapsBefore = new Map<string, number>()

/** Waits until the Server holds only the witnesses. */
const recovered = Effect.gen(function* () {
  const site = yield* Site
  const { load } = yield* site.state(false)
  assert.deepStrictEqual(load, alone)
  const metrics = yield* site.metrics
  for (const name of occupied) assert.strictEqual(metrics.get(`a2c_${name}`), 0, name)
}).pipe(
  Effect.catchDefect(Effect.fail),
  Effect.retry(Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: recoveryTime })))
)

const runAttack = (row: Attack) =>
  Effect.gen(function* () {
    const site = yield* Site
    const heapBefore = heapsBefore.get(site.url) ?? (yield* site.state(true)).heap
    heapsBefore.set(site.url, heapBefore)
    const before = yield* site.measureDuring(Effect.void)
    const seen = yield* site.measureDuring(Effect.timeout(Effect.scoped(row.run), attackTime))
    yield* recovered
    const after = yield* site.state(true)
    const heap = after.heap - heapBefore
    rows.push({ row, seen, heap, turn: after.longestTick })
    assert.deepStrictEqual(seen.failed, [])
    assert.isBelow(seen.p99, maxLatency + latencyFactor * before.p99)
    assert.isBelow(heap, maxGrowth)
  })

const table = (): string => {
  const line = (cells: ReadonlyArray<string>) => `${cells.join("  ")}\n`
  const title = (text: string) => text.padEnd(92).slice(0, 92)
  const number = (value: number, digits = 1) => value.toFixed(digits).padStart(7)
  return [
    line([
      title("attack: measured by calls every 5 ms"),
      "  calls",
      "p50, ms",
      "p99, ms",
      "max, ms",
      "   turn",
      "+ MiB"
    ]),
    ...rows.map(({ heap, row, turn, seen: { calls, max, p50, p99 } }) =>
      line([
        title(row.attack),
        number(calls, 0),
        ...[p50, p99, max, turn].map((one) => number(one)),
        number(heap / 2 ** 20)
      ])
    )
  ].join("")
}

afterAll(() => void process.stdout.write(`\n${table()}\n`))

for (const engine of engines) {
  layer(Layer.provideMerge(SlowHeads.layer, Site.layer(engine)), { excludeTestServices: true, timeout: "30 seconds" })(
    `under attack, with the engine ${engine}`,
    (it) => {
      for (const row of [...sizes, ...floods, ...places, ...slow, ...credentials, ...shapes, ...handshakes]) {
        it.effect(`${row.attack}: ${row.answer}`, () => runAttack(row), 300_000)
      }

      it.effect("logs no credentials and no errors", () =>
        Effect.gen(function* () {
          const { log } = yield* Site
          const text = log()
          assert.include(text, "connection rejected")
          for (const secret of [goodKey, wrongKey, staleKey, revocableKey]) assert.notInclude(text, secret)
          assert.notMatch(text, /ERROR|request handler failed|request failed/)
        })
      )
    }
  )
}
