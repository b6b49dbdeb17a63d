import { setTimeout as sleep } from "node:timers/promises"
import { Cause, Effect, type Scope } from "effect"
import { liveHeap } from "../heap.ts"
import { inputFrom } from "./mutate.ts"
import { randomOf } from "./random.ts"
import type { Feeder, Note, Surface } from "./Surface.ts"

/** What is to be done with a surface. The same plan makes the same inputs. */
export interface Plan {
  readonly seed: number
  readonly inputs: number
  /** The number of the first input, to try one again. */
  readonly from?: number
  /** Hears how far it is, about once a second. */
  readonly progress?: (done: number) => void
}

/** An input and its number. */
export interface Numbered {
  readonly index: number
  readonly input: Buffer
}

/** Something that is wrong. */
export interface Fault {
  readonly what: string
  /** The input at which it was seen; nothing when that was after the last one. */
  readonly at: Numbered | undefined
  /** Those before it, the last one last: on live surfaces it may have been one of them. */
  readonly before: ReadonlyArray<Numbered>
}

/** How it went. */
export interface Outcome {
  readonly surface: string
  readonly inputs: number
  readonly accepted: number
  readonly refused: number
  readonly seconds: number
  /** The longest time that an input took, in milliseconds. */
  readonly slowest: number
  /** Bytes that lived after the first inputs, and after the last. */
  readonly heapBefore: number
  readonly heapAfter: number
  /** What notes of the surface that are no faults say, such as what the witnesses saw. */
  readonly fault: Fault | undefined
}

/** How long an input may take until there is an answer, in milliseconds, on a machine that has other things to do, too. */
const mostTime = 20_000

/** How long an input may keep everything else waiting, in milliseconds: such inputs are answered at once. */
const mostTurn = 2000

/** Inputs that are remembered for whoever looks for the reason of a fault. */
const mostBefore = 64

/** Code is compiled and caches are filled by the first inputs: a part of all, and not more than so many. */
const warmUp = { part: 0.2, most: 5000 }

/** What may live more after the last input than after the first ones, as a part of what lived. */
const mostGrowth = 0.1

/** Up to so many inputs of a surface what is compiled for them weighs more than they, and may: so many bytes. */
const short = { inputs: 10_000, compiled: 6 * 1024 * 1024 }

/** How long timers may keep what has ended, in milliseconds: Engine.IO's do so for 30 seconds. */
const mostKept = 45_000

/** Milliseconds between two looks at them. */
const betweenLooks = 100

const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length

/** Waits until no more timers are pending than were at first, or have been for too long. */
const quietAgain = async (atFirst: number): Promise<void> => {
  for (const begun = performance.now(); performance.now() - begun < mostKept && timers() > atFirst; ) {
    await sleep(betweenLooks)
  }
}

/** What lives more after the last input than after the first ones, as a part of what lived. */
export const growthOf = ({ heapAfter, heapBefore }: Pick<Outcome, "heapAfter" | "heapBefore">): number =>
  heapAfter / heapBefore - 1

/** Bytes that may live after so many inputs, where so many lived before. */
export const mostHeap = (inputs: number, heapBefore: number): number =>
  heapBefore * (1 + mostGrowth) + (inputs < short.inputs ? short.compiled : 0)

/** Inputs without an answer to wait for that are fed in a row, before others have their turn. */
const inARow = 200

const wordsOf = (error: unknown): string => {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : Cause.pretty(Cause.die(error))
  } catch {
    return "something was thrown that cannot be read"
  }
}

/** Notes everything that nobody catches. */
const watchProcess = (note: Note): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const uncaught = (error: unknown) => note(`nobody caught: ${wordsOf(error)}`)
        const unhandled = (error: unknown) => note(`nobody handled: ${wordsOf(error)}`)
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

/** An answer that has to come in time. */
const inTime = <A>(answer: Promise<A>, what: string): Promise<A> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what} has no end`)), mostTime)
  return Promise.race([answer, late.promise]).finally(() => clearTimeout(timer))
}

/** What has been counted so far. */
interface Count {
  done: number
  accepted: number
  slowest: number
  fault: Fault | undefined
}

/** Feeds the inputs from one number up to another. */
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
  let told = performance.now()

  const fail = (what: string, at: Numbered | undefined) => {
    count.fault ??= { what, at, before: before.filter(({ index }) => index !== at?.index) }
  }

  const one = async (index: number, lane: number): Promise<boolean> => {
    const random = randomOf(seed, surface.name, index)
    const input = inputFrom(random, surface)
    const numbered = { index, input }
    before.push(numbered)
    if (before.length > mostBefore) before.shift()
    const begun = performance.now()
    let waits = false
    try {
      const verdict = feeder.feed(input, random, lane)
      waits = typeof verdict !== "string"
      const isTurn = performance.now() - begun
      if (isTurn > mostTurn) fail(`it took ${Math.round(isTurn)} ms, and everything else waited`, numbered)
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
    if (now - told > 1000) {
      told = now
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
  if (heapAfter > mostHeap(inputs, heapBefore)) {
    const percent = (growthOf({ heapAfter, heapBefore }) * 100).toFixed(1)
    const what = `${heapBefore} bytes lived before, and ${heapAfter} after: ${percent} % more`
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

/** Feeds inputs to a surface until something is wrong, or there are no more. */
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

/** How many inputs each surface has of all, by weight: at least one, and together not less than there should be. */
export const shares = (surfaces: ReadonlyArray<Surface>, inputs: number): ReadonlyArray<number> => {
  const all = surfaces.reduce((sum, { weight }) => sum + weight, 0)
  return surfaces.map(({ weight }) => Math.ceil((inputs * weight) / all))
}
