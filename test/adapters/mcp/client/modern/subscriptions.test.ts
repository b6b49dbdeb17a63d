import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Queue } from "effect"
import { TestClock } from "effect/testing"
import type { ModernClient } from "../../../../../src/adapters/mcp/client/modern/ModernClient.ts"
import { subscribe } from "../../../../../src/adapters/mcp/client/modern/openModernSession.ts"
import { allChanges } from "../../../../../src/adapters/mcp/client/mcpMessages.ts"
import type { McpWatchOptions } from "../../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../../src/domain/json.ts"

const honoured = { toolsListChanged: true }

describe("subscription that its server closes", () => {
  it.effect("is renewed with a growing delay, until it lasts a minute", () =>
    Effect.gen(function* () {
      const lasting = [0, 30, 59, 60, 0]
      const opened: Array<number> = []
      const client: Pick<ModernClient, "listen" | "markLost"> = {
        markLost: () => assert.fail("the session is lost"),
        listen: (_wanted, onAccepted) =>
          Effect.gen(function* () {
            const seconds = lasting[opened.length]
            opened.push((yield* Clock.currentTimeMillis) / 1000)
            onAccepted(honoured)
            return yield* seconds === undefined ? Effect.never : Effect.as(Effect.sleep(`${seconds} seconds`), {})
          })
      }
      yield* Effect.forkScoped(subscribe(client as ModernClient, { tools: true, resources: false, uris: [] }))
      yield* TestClock.adjust("1 hour")
      const delays = opened.slice(1).map((at, index) => at - (opened[index] ?? 0) - (lasting[index] ?? 0))
      assert.deepStrictEqual(delays, [1, 2, 4, 1, 2])
    })
  )
})

describe("subscription to changes", () => {
  it.effect.each<[McpWatchOptions, JsonObject]>([
    [{ tools: true, resources: false, uris: [] }, { toolsListChanged: true }],
    [{ tools: false, resources: true, uris: [] }, { resourcesListChanged: true }],
    [{ tools: false, resources: false, prompts: true, uris: [] }, { promptsListChanged: true }],
    [{ tools: false, resources: false, uris: ["a:1", "a:2"] }, { resourceSubscriptions: ["a:1", "a:2"] }]
  ])("asks for what the watch %j wants", ([wanted, expected]) =>
    Effect.gen(function* () {
      const asked: Array<JsonObject> = []
      const client: Pick<ModernClient, "listen" | "markLost"> = {
        markLost: () => assert.fail("the session is lost"),
        listen: (filter, onAccepted) =>
          Effect.suspend(() => {
            asked.push(filter)
            onAccepted(filter)
            return asked.length < 2 ? Effect.succeed({}) : Effect.never
          })
      }
      const { changes, honoured } = yield* subscribe(client as ModernClient, wanted)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(honoured, expected)
      assert.deepStrictEqual(asked, [expected, expected])
      // Changes may have been missed in between.
      assert.deepStrictEqual(yield* Queue.takeAll(changes), allChanges(wanted))
    })
  )

  it.effect("gives up after five rejections in a row", () =>
    Effect.gen(function* () {
      let asked = 0
      const lost: Array<string> = []
      const client: Pick<ModernClient, "listen" | "markLost"> = {
        markLost: (reason) => void lost.push(reason),
        listen: (filter, onAccepted) =>
          Effect.suspend(() => {
            asked++
            // The fifth renewal is accepted: the rejections before it count no more.
            if (asked === 1 || asked === 6) onAccepted(filter)
            return Effect.succeed({})
          })
      }
      yield* subscribe(client as ModernClient, { tools: true, resources: false, uris: [] })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([asked, lost.length], [11, 1])
    })
  )

  const all = { tools: true, resources: true, prompts: true, uris: ["a:1"] }
  const listChanged = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }

  /** A watch of everything, whose server accepts these subscriptions in turn and closes all but the last one. */
  const accepting = Effect.fnUntraced(function* (...accepted: ReadonlyArray<JsonObject>) {
    let asked = 0
    const lost: Array<string> = []
    const client: Pick<ModernClient, "listen" | "markLost"> = {
      markLost: (reason) => void lost.push(reason),
      listen: (_, onAccepted) =>
        Effect.suspend(() => {
          onAccepted(accepted[asked++] ?? {})
          return asked < accepted.length ? Effect.succeed({}) : Effect.never
        })
    }
    const { changes } = yield* subscribe(client as ModernClient, all)
    yield* TestClock.adjust("1 hour")
    return { asked: () => asked, changes, lost }
  })

  it.effect.each([
    ["has ended", [{ ...listChanged, resourceSubscriptions: ["a:1"] }, listChanged, listChanged], 0],
    ["was added and has ended", [{ toolsListChanged: true }, listChanged, { toolsListChanged: true }], 0],
    ["of the tools has ended", [listChanged, { ...listChanged, toolsListChanged: false }], 1],
    ["of the prompts has ended", [listChanged, listChanged, { ...listChanged, promptsListChanged: false }], 1],
    ["of the resources has ended", [listChanged, { toolsListChanged: true, promptsListChanged: true }], 1]
  ] as const)("is renewed without the part that %s, unless the first one had a list of it", ([, accepted, losses]) =>
    Effect.gen(function* () {
      const { asked, lost } = yield* accepting(...accepted)
      assert.strictEqual(asked(), accepted.length)
      assert.deepStrictEqual(
        lost.map((reason) => reason.includes("dropped a list-changed subscription")),
        Array.from({ length: losses }, () => true)
      )
    })
  )

  it.effect("is not renewed where the server accepts nothing of it", () =>
    Effect.gen(function* () {
      const { asked, lost } = yield* accepting({}, {})
      assert.deepStrictEqual([asked(), lost.length], [1, 0])
    })
  )

  it.effect("reports everything as changed after each renewal, and not at first", () =>
    Effect.gen(function* () {
      const { changes } = yield* accepting(listChanged, listChanged, listChanged)
      assert.deepStrictEqual(yield* Queue.takeAll(changes), [...allChanges(all), ...allChanges(all)])
    })
  )
})
