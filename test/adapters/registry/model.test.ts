import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Clock, Duration, Effect, Exit, Scope } from "effect"
import { createClient } from "redis"
import { afterAll, beforeAll } from "vitest"
import type { RegistryChange, OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { commandOf, histories, inWords, returns } from "../../domain/office/histories.ts"
import { startRedis } from "../../fixtures/redis.ts"
import { play, type Stage } from "./batches.ts"
import { memoryNodes, type OpenNode, redisNodes } from "./cluster.ts"

const scope = Scope.makeUnsafe()
let url = ""

beforeAll(async () => {
  url = (await Effect.runPromise(Scope.provide(startRedis(), scope))).url
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

/** How many times as many histories as usual are played. */
const times = Number(process.env["A2C_MODEL_RUNS"] ?? 1)

/** Steps of a history; of those in Redis, which takes longer to begin than to play. */
const longest = 40
const longestInRedis = 120

/** Of those in Redis, so that the test cannot pass because it was too slow. */
const fewestBatches = 100

/** Candidates that are tried to make a history that fails shorter. */
const maxShrinks = 300

/** Milliseconds for that. */
const shrinking = 20_000

/** An interleaving fails now and then: how often a shorter candidate is tried. */
const retries = 8

/** Commands that are issued at once. */
const maxAtOnce = 5

const inMemory =
  (atOnce: number, open: () => OpenNode = memoryNodes) =>
  (): Stage => ({
    open: open(),
    nodes: 3,
    atOnce,
    timeout: Duration.zero,
    leftovers: Effect.succeed([])
  })

/** What Redis holds of a cluster without members. */
const always = ["rev", "born", "seen", "nodes"]

const leftovers = (prefix: string) =>
  Effect.promise(async () => {
    const client = createClient({ url })
    await client.connect()
    const keys = await client.keys(`${prefix}*`)
    client.destroy()
    return keys.map((key) => key.slice(prefix.length)).filter((key) => !always.includes(key))
  })

const inRedis = (timeout: Duration.Duration): Stage => {
  const prefix = `{${crypto.randomUUID()}}:`
  return {
    open: redisNodes(url, prefix),
    nodes: 3,
    atOnce: maxAtOnce,
    timeout,
    leftovers: leftovers(prefix)
  }
}

/** Plays histories until one fails, then looks for a shorter one that does. */
const check = Effect.fnUntraced(function* (
  stage: (isShrinking: boolean) => Stage,
  { of = histories, size = longest, ...options }: Arbitrary.CheckOptions & { readonly of?: typeof histories }
) {
  let batches = 0
  let shrinksUntil: number | undefined
  const now = Clock.currentTimeMillis
  const result = yield* Arbitrary.checkEffect(
    of(size),
    (history) =>
      Effect.gen(function* () {
        const tries = shrinksUntil === undefined ? 1 : retries
        for (let left = tries; left > 0; left--) {
          if (shrinksUntil !== undefined && (yield* now) > shrinksUntil) return true
          const isShrinking = shrinksUntil !== undefined
          batches += yield* Effect.scoped(Effect.suspend(() => play(stage(isShrinking), history)))
        }
        return true
      }).pipe(
        Effect.tapError(() =>
          Effect.map(now, (millis) => {
            shrinksUntil ??= millis + shrinking
          })
        )
      ),
    { size, maxShrinks, ...options }
  )
  return { batches, result }
})

type Registry = OfficeRegistry["Service"]

/** Nodes that see everything through a mistake. */
const mistaken = (alter: (registry: Registry) => Partial<Registry>) => (): OpenNode => {
  const open = memoryNodes()
  return (name) =>
    Effect.map(open(name), (node) => ({
      ...node,
      registry: { ...node.registry, ...alter(node.registry) }
    }))
}

/** Nodes that hear something else than they should. */
const hearing = (change: (heard: RegistryChange, registry: Registry) => ReadonlyArray<RegistryChange>) =>
  mistaken((registry) => ({
    subscribe: (listener) => registry.subscribe((heard) => change(heard, registry).forEach(listener))
  }))

const isOwn = (registry: Registry, sid: string) => registry.session(sid)._tag === "Some"

/** Each of these mistakes, with the fewest steps that show it. */
const mutants: ReadonlyArray<readonly [mistake: string, fewest: number, open: () => OpenNode]> = [
  [
    "the nodes share nothing",
    4,
    () => {
      const alone = new Map<string, OpenNode>()
      return (name) => {
        const open = alone.get(name) ?? memoryNodes()
        alone.set(name, open)
        return open(name)
      }
    }
  ],
  [
    "a node looks first, and takes the seat later",
    4,
    mistaken((registry) => ({
      apply: (command, capacity) =>
        Effect.suspend(() => {
          const sawNobody = command._tag === "Join" && registry.members(command.office).length === 0
          const applied = Effect.andThen(Effect.yieldNow, registry.apply(command, capacity))
          return Effect.catchIf(
            applied,
            ({ reason }) => sawNobody && reason === "agent_exists",
            () => Effect.void
          )
        })
    }))
  ],
  [
    "a seat is taken over without its holder's secret",
    4,
    mistaken((registry) => ({
      apply: (command, capacity) =>
        registry.apply(
          command._tag === "Connect" ? { ...command, reconnectKey: "anybody" } : command,
          capacity
        )
    }))
  ],
  ["there is always room", 4, mistaken((registry) => ({ apply: (command) => registry.apply(command) }))],
  [
    "a command is acknowledged before it is done",
    2,
    mistaken((registry) => ({
      apply: (command, capacity) =>
        Effect.asVoid(Effect.forkDetach(Effect.ignore(registry.apply(command, capacity))))
    }))
  ],
  ["leaving is told twice", 3, hearing((heard) => (heard._tag === "Left" ? [heard, heard] : [heard]))],
  [
    "members of other nodes are not told who comes",
    4,
    hearing((heard, registry) => (heard._tag === "Entered" && !isOwn(registry, heard.sid) ? [] : [heard]))
  ],
  [
    "members of other nodes are not told who leaves",
    5,
    hearing((heard, registry) => (heard._tag === "Left" && !isOwn(registry, heard.sid) ? [] : [heard]))
  ],
  [
    "members are told of themselves",
    2,
    hearing((heard) =>
      heard._tag === "Entered" ? [{ ...heard, recipients: [...heard.recipients, heard.sid] }] : [heard]
    )
  ],
  ["who has lost its seat is not put out", 4, hearing((heard) => (heard._tag === "Evicted" ? [] : [heard]))]
]

describe("an office registry does what the plain model does", () => {
  it.live(
    "in memory, one command after the other",
    () =>
      Effect.gen(function* () {
        const { result } = yield* check(inMemory(1), { runs: 300 * times })
        assert.isUndefined(Arbitrary.formatCheckFailure(result))
      }),
    60_000 * times
  )

  it.live(
    "in memory, whatever is issued at once",
    () =>
      Effect.gen(function* () {
        const { result } = yield* check(inMemory(maxAtOnce), { runs: 300 * times })
        assert.isUndefined(Arbitrary.formatCheckFailure(result))
      }),
    60_000 * times
  )

  it.live.each([
    ["in some order of what is issued at once on several nodes", histories],
    ["in some order of what is issued at once by connections that take each other's seats", returns]
  ] as const)(
    "in Redis, %s",
    ([, of]) =>
      Effect.gen(function* () {
        const timeout = (isShrinking: boolean) => Duration.millis(isShrinking ? 200 : 2000)
        const { batches, result } = yield* check((isShrinking) => inRedis(timeout(isShrinking)), {
          of,
          runs: 20 * times,
          size: longestInRedis
        })
        assert.isUndefined(Arbitrary.formatCheckFailure(result))
        assert.isAbove(batches, fewestBatches * times)
      }),
    120_000 * times
  )
})

describe("an office registry would be found wrong, in few steps, if", () => {
  it.live.each(mutants)(
    "%s",
    ([mistake, fewest, open]) =>
      Effect.gen(function* () {
        const { result } = yield* check(inMemory(maxAtOnce, open), { runs: 300, seed: 1 })
        if (result._tag !== "Falsified") return assert.fail(`nothing shows that ${mistake}`)
        const { steps } = result.shrunkInput
        assert.isAtMost(steps.length, fewest, steps.map((step) => inWords(commandOf(step, 3))).join("\n"))
      }),
    60_000
  )
})
