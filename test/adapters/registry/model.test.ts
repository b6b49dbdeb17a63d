import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Clock, Duration, Effect, Exit, Scope } from "effect"
import { createClient } from "redis"
import { afterAll, beforeAll } from "vitest"
import type { RegistryChange, OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { unlimitedCapacity } from "../../../src/domain/office/decideMembership.ts"
import { commandOf, histories, inWords, nodeOf, returns } from "../../domain/office/histories.ts"
import { startRedis, withoutRedis } from "../../fixtures/redis.ts"
import { play, type Fixture } from "./batches.ts"
import { commandsOf, memoryNodes, type OpenNode, redisNodes } from "./cluster.ts"

const scope = Scope.makeUnsafe()
let url = ""

/** Factor of the number of histories. */
const times = Number(process.env["A2C_MODEL_RUNS"] ?? 1)

/** Steps of a history in memory, and in Redis, which starts slowly and plays fast. */
const longest = 40
const longestInRedis = 120

/** Fewest batches in Redis: histories of little must not pass. */
const fewestBatches = 70

/** Most rounds of histories until there are as many batches. */
const maxRounds = 5

/** Limits of shrinking a failing history: candidates, and milliseconds. */
const maxShrinks = 300

const shrinking = 20_000

/** Attempts per candidate: a race fails only sometimes. */
const retries = 8

/** Concurrent commands. */
const maxAtOnce = 5

const inMemory =
  (atOnce: number, open: () => OpenNode = memoryNodes) =>
  (): Fixture => ({
    open: open(),
    nodes: 3,
    atOnce,
    timeout: Duration.zero,
    leftovers: Effect.succeed([])
  })

/** The keys of a cluster without members. */
const always = ["rev", "born", "seen", "nodes", "addresses"]

const leftovers = (prefix: string) =>
  Effect.promise(async () => {
    const client = createClient({ url })
    await client.connect()
    const keys = await client.keys(`${prefix}*`)
    client.destroy()
    return keys.map((key) => key.slice(prefix.length)).filter((key) => !always.includes(key))
  })

const inRedis = (timeout: Duration.Duration): Fixture => {
  const prefix = `{${crypto.randomUUID()}}:`
  return {
    open: redisNodes(url, prefix),
    nodes: 3,
    atOnce: maxAtOnce,
    timeout,
    leftovers: leftovers(prefix)
  }
}

/** Plays histories until one fails, then shrinks it. */
const check = Effect.fnUntraced(function* (
  fixture: (isShrinking: boolean) => Fixture,
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
          batches += yield* Effect.scoped(Effect.suspend(() => play(fixture(isShrinking), history)))
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

/** Nodes with a mutated registry. */
const mistaken = (alter: (registry: Registry) => Partial<Registry>) => (): OpenNode => {
  const open = memoryNodes()
  return (name) =>
    Effect.map(open(name), (node) => {
      const registry = { ...node.registry, ...alter(node.registry) }
      return { ...node, registry, ...commandsOf(registry) }
    })
}

/** Nodes that receive mutated changes. */
const hearing = (change: (received: RegistryChange, registry: Registry) => ReadonlyArray<RegistryChange>) =>
  mistaken((registry) => ({
    subscribe: (listener) => registry.subscribe((received) => change(received, registry).forEach(listener))
  }))

const isOwn = (registry: Registry, sid: string) => nodeOf(sid, 3) === registry.node

/** Mutations, each with the largest shrunk history that reveals it. */
const mutants: ReadonlyArray<readonly [mistake: string, fewest: number, open: () => OpenNode]> = [
  [
    "nodes share no state",
    5,
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
    "a join checks and writes in two steps",
    4,
    mistaken((registry) => ({
      apply: (command, capacity) =>
        Effect.suspend(() => {
          const sawEmptyOffice = command._tag === "Join" && registry.members(command.office).length === 0
          const applied = Effect.andThen(Effect.yieldNow, registry.apply(command, capacity))
          return Effect.catchIf(
            applied,
            ({ reason }) => sawEmptyOffice && reason === "agent_exists",
            () => Effect.void
          )
        })
    }))
  ],
  [
    "a takeover needs no secret",
    4,
    mistaken((registry) => ({
      connect: (session) => registry.connect({ ...session, reconnectKey: "shared" })
    }))
  ],
  [
    "a join ignores the capacity",
    4,
    mistaken((registry) => ({ apply: (command) => registry.apply(command, unlimitedCapacity) }))
  ],
  [
    "a command is acknowledged before it is applied",
    2,
    mistaken((registry) => ({
      apply: (command, capacity) => Effect.asVoid(Effect.forkDetach(Effect.ignore(registry.apply(command, capacity)))),
      disconnect: (sid) => Effect.asVoid(Effect.forkDetach(registry.disconnect(sid)))
    }))
  ],
  [
    "a leave is reported twice",
    3,
    hearing((received) => (received._tag === "Left" ? [received, received] : [received]))
  ],
  [
    "a join is not reported to other nodes",
    4,
    hearing((received, registry) => (received._tag === "Entered" && !isOwn(registry, received.sid) ? [] : [received]))
  ],
  [
    "a leave is not reported to other nodes",
    5,
    hearing((received, registry) => (received._tag === "Left" && !isOwn(registry, received.sid) ? [] : [received]))
  ],
  [
    "a member is notified of its join",
    2,
    hearing((received) =>
      received._tag === "Entered" ? [{ ...received, recipients: [...received.recipients, received.sid] }] : [received]
    )
  ],
  ["an evicted session is not reported", 4, hearing((received) => (received._tag === "Evicted" ? [] : [received]))],
  [
    "an eviction is reported twice",
    4,
    hearing((received) => (received._tag === "Evicted" ? [received, received] : [received]))
  ]
]

describe("an office registry beside the reference model", () => {
  it.live(
    "gives equal outcomes in memory for sequential commands",
    () =>
      Effect.gen(function* () {
        const { result } = yield* check(inMemory(1), { runs: 300 * times })
        assert.isUndefined(Arbitrary.formatCheckFailure(result))
      }),
    180_000 * times
  )

  it.live(
    "gives equal outcomes in memory for concurrent commands",
    () =>
      Effect.gen(function* () {
        const { result } = yield* check(inMemory(maxAtOnce), { runs: 300 * times })
        assert.isUndefined(Arbitrary.formatCheckFailure(result))
      }),
    180_000 * times
  )
})

describe.skipIf(withoutRedis)("a registry in Redis beside the reference model", () => {
  beforeAll(async () => {
    url = (await Effect.runPromise(Scope.provide(startRedis, scope))).url
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

  it.live.each([
    ["concurrent commands on several nodes", histories],
    ["concurrent takeovers", returns]
  ] as const)(
    "gives equal outcomes for %s",
    ([, of]) =>
      Effect.gen(function* () {
        const timeout = (isShrinking: boolean) => Duration.millis(isShrinking ? 200 : 20_000)
        let played = 0
        for (let round = 0; round < maxRounds && played < fewestBatches * times; round++) {
          const { batches, result } = yield* check((isShrinking) => inRedis(timeout(isShrinking)), {
            of,
            runs: 14 * times,
            size: longestInRedis
          })
          assert.isUndefined(Arbitrary.formatCheckFailure(result))
          played += batches
        }
        assert.isAtLeast(played, fewestBatches * times)
      }),
    240_000 * times
  )
})

describe("the comparison with the reference model", () => {
  it.live.each(mutants)(
    "finds the mutation: %s",
    ([mistake, fewest, open]) =>
      Effect.gen(function* () {
        const { result } = yield* check(inMemory(maxAtOnce, open), { runs: 300, seed: 1 })
        if (result._tag !== "Falsified") return assert.fail(`no history shows that ${mistake}`)
        const { steps } = result.shrunkInput
        assert.isAtMost(steps.length, fewest, steps.map((step) => inWords(commandOf(step, 3))).join("\n"))
      }),
    180_000
  )
})
