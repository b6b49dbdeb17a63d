import { setTimeout as sleep } from "node:timers/promises"
import { Cause, Effect, type Scope } from "effect"
import { liveHeap } from "../heap.ts"
import { inputFrom } from "./mutate.ts"
import { randomOf } from "./random.ts"
import type { Feeder, Note, Surface } from "./Surface.ts"

/** The plan for a surface. The same plan makes the same inputs. */
export interface Plan {
  readonly seed: number
  readonly inputs: number
  /** The number of the first input; reproduces a single input. */
  readonly from?: number
  /** Receives the progress about once a second. */
  readonly progress?: (done: number) => void
}

/** An input and its number. */
export interface Numbered {
  readonly index: number
  readonly input: Buffer
}

/** A detected fault. */
export interface Fault {
  readonly what: string
  /** The input that showed the fault; `undefined` after the last input. */
  readonly at: Numbered | undefined
  /** The previous inputs in order: on live surfaces, one of them may be the cause. */
  readonly before: ReadonlyArray<Numbered>
}

/** The outcome of a surface. */
export interface Outcome {
  readonly surface: string
  readonly inputs: number
  readonly accepted: number
  readonly refused: number
  readonly seconds: number
  /** The maximum duration of an input in milliseconds. */
  readonly slowest: number
  /** Live heap in bytes after the warm-up and after the last input. */
  readonly heapBefore: number
  readonly heapAfter: number
  /** Remarks of the surface, such as the latency of the witnesses. */
  readonly fault: Fault | undefined
}

/** Maximum time until the reply to an input in milliseconds, on a busy machine. */
const maxTime = 20_000

/** How long an input may block the event loop in milliseconds. */
const maxTurn = 2000

/** The number of previous inputs in a fault report. */
const maxBefore = 64

/** The warm-up, during which code is compiled and caches are filled: a share of the inputs, with a maximum. */
const warmUp = { part: 0.2, most: 5000 }

/** Allowed growth of the live heap after the warm-up, as a share. */
const maxGrowth = 0.1

/** In short runs, compiled code outweighs the inputs: an extra allowance in bytes up to a number of inputs. */
const short = { inputs: 10_000, compiled: 6 * 1024 * 1024 }

/** How long timers may retain closed connections in milliseconds: Engine.IO's do so for 30 seconds. */
const maxKept = 45_000

/** Poll interval of the timers in milliseconds. */
const betweenLooks = 100

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length

/** Waits until the number of pending timers is back to its start value, up to a timeout. */
const quietAgain = async (atFirst: number): Promise<void> => {
  for (const begun = performance.now(); performance.now() - begun < maxKept && timers() > atFirst; ) {
    await sleep(betweenLooks)
  }
}

/** The growth of the live heap, as a share. */
export const growthOf = ({ heapAfter, heapBefore }: Pick<Outcome, "heapAfter" | "heapBefore">): number =>
  heapAfter / heapBefore - 1

/** The allowed live heap in bytes after a number of inputs. */
export const maxHeap = (inputs: number, heapBefore: number): number =>
  heapBefore * (1 + maxGrowth) + (inputs < short.inputs ? short.compiled : 0)

/** The number of synchronous inputs between two turns of the event loop. */
const inARow = 200

const wordsOf = (error: unknown): string => {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : Cause.pretty(Cause.die(error))
  } catch {
    return "an unreadable value was thrown"
  }
}

/** Notes uncaught exceptions and unhandled rejections. */
const watchProcess = (note: Note): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const uncaught = (error: unknown) => note(`uncaught exception: ${wordsOf(error)}`)
        const unhandled = (error: unknown) => note(`unhandled rejection: ${wordsOf(error)}`)
        process.on("uncaughtException", uncaught)
        process.on("unhandledRejection", unhandled)
        return { uncaught, unhandled }
      }),
      ({ uncaught, unhandled }) =>
        Effect.sync(() => {
          process.off("uncaughtException", uncaught)
          process.off("unhandledRejection", unhandled)
        })
    )
  )

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Adds the timeout to a promise. */
const inTime = <A>(answer: Promise<A>, what: string): Promise<A> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what} timed out`)), maxTime)
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}

/** Counters of a run. */
interface Count {
  done: number
  accepted: number
  slowest: number
  fault: Fault | undefined
}

/** Feeds the inputs with these numbers. */
const feedAll = async (
  surface: Surface,
  feeder: Feeder,
  { progress = () => undefined, seed }: Plan,
  [from, to]: readonly [number, number],
  count: Count,
  before: Array<Numbered>,
  noted: () => string | undefined
): Promise<void> => {
  let next = from
  let notified = performance.now()

  const fail = (what: string, at: Numbered | undefined) => {
    count.fault ??= { what, at, before: before.filter(({ index }) => index !== at?.index) }
  }

  const one = async (index: number, lane: number): Promise<boolean> => {
    const random = randomOf(seed, surface.name, index)
    const input = inputFrom(random, surface)
    const numbered = { index, input }
    before.push(numbered)
    if (before.length > maxBefore) before.shift()
    const begun = performance.now()
    let waits = false
    try {
      const verdict = feeder.feed(input, random, lane)
      waits = typeof verdict !== "string"
      const isTurn = performance.now() - begun
      if (isTurn > maxTurn) fail(`it took ${Math.round(isTurn)} ms and blocked everything else`, numbered)
      if ((typeof verdict === "string" ? verdict : await inTime(verdict, "it")) === "accepted") {
        count.accepted += 1
      }
    } catch (error) {
      fail(wordsOf(error), numbered)
    }
    const now = performance.now()
    count.slowest = Math.max(count.slowest, now - begun)
    count.done += 1
    const note = noted()
    if (note !== undefined) fail(note, numbered)
    if (now - notified > 1000) {
      notified = now
      progress(count.done)
    }
    return waits
  }

  const work = async (lane: number): Promise<void> => {
    let row = 0
    while (next < to && count.fault === undefined) {
      const index = next
      next += 1
      row = (await one(index, lane)) ? 0 : row + 1
      if (row < inARow) continue
      row = 0
      await turn()
    }
  }
  await feeder.begin()
  await Promise.all(Array.from({ length: surface.lanes }, (_, lane) => work(lane)))
  try {
    await inTime(feeder.settle(), "settling")
    await turn()
  } catch (error) {
    fail(wordsOf(error), undefined)
  }
  const note = noted()
  if (note !== undefined) fail(note, undefined)
}

const run = async (surface: Surface, plan: Plan, feeder: Feeder, notes: Array<string>): Promise<Outcome> => {
  const count: Count = { done: 0, accepted: 0, slowest: 0, fault: undefined }
  const before: Array<Numbered> = []
  const noted = () => notes.shift()
  const { from = 0, inputs } = plan
  const warm = from + Math.min(Math.ceil(inputs * warmUp.part), warmUp.most)
  const timersAtFirst = timers()
  const isLong = inputs >= short.inputs
  let seconds = 0
  const feed = async (range: readonly [from: number, to: number]): Promise<void> => {
    const begun = performance.now()
    await feedAll(surface, feeder, plan, range, count, before, noted)
    seconds += (performance.now() - begun) / 1000
  }

  await feed([from, warm])
  if (isLong) await quietAgain(timersAtFirst)
  const heapBefore = liveHeap()
  if (count.fault === undefined) await feed([warm, from + inputs])
  const last = before.splice(0)
  if (isLong) await quietAgain(timersAtFirst)
  const heapAfter = liveHeap()
  if (heapAfter > maxHeap(inputs, heapBefore)) {
    const percent = (growthOf({ heapAfter, heapBefore }) * 100).toFixed(1)
    const what = `the live heap grew from ${heapBefore} to ${heapAfter} bytes: ${percent} %`
    count.fault ??= { what, at: undefined, before: last }
  }
  try {
    await inTime(feeder.finish(), "the end")
  } catch (error) {
    count.fault ??= { what: wordsOf(error), at: undefined, before: last }
  }
  const note = noted()
  if (note !== undefined) count.fault ??= { what: note, at: undefined, before: last }
  return {
    surface: surface.name,
    inputs: count.done,
    accepted: count.accepted,
    refused: count.done - count.accepted,
    seconds,
    slowest: count.slowest,
    heapBefore,
    heapAfter,
    fault: count.fault
  }
}

/** Feeds inputs to a surface until the first fault or the last input. */
export const fuzz = (surface: Surface, plan: Plan): Effect.Effect<Outcome, unknown> =>
  Effect.scoped(
    Effect.gen(function* () {
      const notes: Array<string> = []
      const note: Note = (what) => void notes.push(what)
      yield* watchProcess(note)
      const feeder = yield* surface.open(note)
      return yield* Effect.promise(() => run(surface, plan, feeder, notes))
    })
  )

/** Splits the inputs by weight: at least one for each surface, and at least the total together. */
export const shares = (surfaces: ReadonlyArray<Surface>, inputs: number): ReadonlyArray<number> => {
  const all = surfaces.reduce((sum, { weight }) => sum + weight, 0)
  return surfaces.map(({ weight }) => Math.ceil((inputs * weight) / all))
}
