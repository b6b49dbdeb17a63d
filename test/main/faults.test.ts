import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Scope, Stream } from "effect"
import type { Computer } from "../../src/application/computer/Computer.ts"
import type { ComputerSettings } from "../../src/application/computer/ComputerSettings.ts"
import type { ToolResult } from "../../src/domain/model/ToolResult.ts"
import { errorCodeOf } from "../../src/domain/tools/errorResults.ts"
import { gone } from "../processes.ts"
import {
  becomes,
  linesOf,
  listen,
  makeComputer,
  makePlace,
  nodeServer,
  testTimeout,
  type Place,
  until
} from "./computers.ts"
import { temporaryFile } from "./processes.ts"
import { firstText } from "../firstText.ts"

const script = fileURLToPath(new URL("../fixtures/faults/server.ts", import.meta.url))

interface Case {
  readonly place: Place
  readonly computer: Computer["Service"]
  /** All lines in the journal of the server. */
  readonly journal: () => ReadonlyArray<string>
  /** Number of these lines in the journal. */
  readonly noted: (line: string) => number
  readonly call: (tool: string) => Effect.Effect<ToolResult>
  /** All processes: the servers and their children. */
  readonly pids: () => ReadonlyArray<number>
}

interface Circumstances {
  readonly args?: ReadonlyArray<string>
  readonly office?: string
  readonly settings?: Partial<ComputerSettings>
}

const office = "o"

/** A Computer with one server `s` in this mode. When it has closed, no process of the server is left. */
const faulty = (
  title: string,
  mode: string,
  body: (given: Case) => Effect.Effect<void, unknown, Scope.Scope>,
  { args = [], ...options }: Circumstances = {}
) =>
  it.live(title, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const journal = yield* temporaryFile("journal", "")
        const place = yield* makePlace
        const scope = yield* Effect.acquireRelease(Scope.make(), (one) => Scope.close(one, Exit.void))
        const servers = { s: nodeServer(script, journal, mode, ...args) }
        const computer = yield* Scope.provide(makeComputer(place, servers, options), scope)
        const call = (tool: string) =>
          computer.callTool({ tool, params: {}, timeout: testTimeout }).pipe(Effect.provide(place.logging))
        const lines = () => linesOf(journal)
        const noted = (line: string) => lines().filter((one) => one.startsWith(line)).length
        const pids = () =>
          lines()
            .filter((line) => /^(start|grandchild)/.test(line))
            .flatMap((line) => line.split(" ").slice(1).map(Number))
        yield* body({ computer, call, journal: lines, noted, pids, place })
        yield* Scope.close(scope, Exit.void)
        assert.isNotEmpty(pids())
        yield* gone(pids())
      })
    )
  )

describe("fault of an MCP server at its start", () => {
  faulty(
    "ends the start at the connect timeout, and retries later",
    "silent",
    ({ computer, noted }) =>
      Effect.gen(function* () {
        const { reason } = yield* until(computer, "s", "BackingOff")
        assert.strictEqual(reason, "no response within 0.5 seconds")
        // On a busy machine the process is ended before it has written its line.
        yield* Effect.repeat(Effect.sleep("20 millis"), { until: () => noted("start") > 0 })
      }),
    { settings: { connectTimeout: Duration.millis(500) } }
  )

  faulty("retries a server that exits at once, with backoff", "exits", ({ computer, noted }) =>
    Effect.gen(function* () {
      const waits = yield* computer.changes.pipe(
        Stream.map((states) => states.get("s")),
        Stream.filter((state) => state?._tag === "BackingOff"),
        Stream.mapEffect(({ reason, retryAt: due }) =>
          Effect.map(Clock.currentTimeMillis, (now) => ({ reason, due, wait: due - now }))
        ),
        Stream.take(3),
        Stream.runCollect,
        Effect.timeout(testTimeout)
      )
      assert.deepStrictEqual(
        waits.map(({ reason }) => reason),
        Array.from({ length: 3 }, () => "the process exited with code 9: no licence found")
      )
      // Half a second, doubled twice, each with a fifth of jitter. A busy machine detects the exit late.
      const longest = [600, 1200, 2400]
      assert.isTrue(
        waits.every(({ wait }, index) => wait <= (longest[index] ?? 0)),
        JSON.stringify(waits)
      )
      const [first = 0, second = 0, third = 0] = waits.map(({ due }) => due)
      assert.isTrue(second - first >= 800 && third - second >= 1600, JSON.stringify(waits))
      assert.strictEqual(noted("start"), 3)
    })
  )

  for (const [mode, reason, tools] of [
    ["repeating", "a page was repeated", 1],
    ["endless", "it has more than 1000 pages", 1000]
  ] as const) {
    faulty(
      `keeps the pages of a tool listing that never ends, with one warning (${mode})`,
      mode,
      ({ computer, place }) =>
        Effect.gen(function* () {
          yield* until(computer, "s", "Ready")
          assert.strictEqual((yield* computer.catalogue).entries.size, tools)
          assert.strictEqual(place.warnings().length, 1)
          assert.include(place.warnings()[0], reason)
        })
    )
  }

  faulty("logs noise between messages once, and keeps the server", "noisy", ({ call, computer, place }) =>
    Effect.gen(function* () {
      yield* until(computer, "s", "Ready")
      assert.strictEqual(firstText(yield* call("t")), "ok")
      assert.strictEqual(place.warnings().length, 1)
      assert.include(place.warnings()[0], "stdout line ignored")
    })
  )

  faulty("accepts a server without tools", "empty", ({ computer }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* until(computer, "s", "Ready")).tools, [])
    })
  )
})

describe("fault of an MCP server in a call", () => {
  faulty(
    "ends a call with 4003 when the server exits, without a retry, and restarts the server",
    "plain",
    ({ call, computer, noted }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        assert.strictEqual(errorCodeOf(yield* call("die")), 4003)
        const { reason } = yield* until(computer, "s", "BackingOff")
        assert.include(reason, "code 7")
        yield* until(computer, "s", "Ready")
        assert.strictEqual(firstText(yield* call("t")), "ok")
        assert.deepStrictEqual([noted("call die"), noted("call t"), noted("start")], [1, 1, 2])
      })
  )

  const mebibyte = 1024 * 1024
  faulty(
    "relays a result of 11 MB completely",
    "large",
    ({ call, computer }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        assert.strictEqual(firstText(yield* call("t")).length, 11 * mebibyte)
      }),
    { args: [String(11 * mebibyte)] }
  )

  faulty(
    "ends a call with 4003 when its result exceeds the limit, and keeps the session",
    "large",
    ({ call, computer, noted }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        const result = yield* call("t")
        assert.strictEqual(errorCodeOf(result), 4003)
        assert.strictEqual(firstText(result), `The response exceeds ${64 * mebibyte} bytes`)
        assert.strictEqual((yield* computer.servers).get("s")?._tag, "Ready")
        assert.strictEqual(noted("start"), 1)
      }),
    { args: [String(65 * mebibyte)] }
  )

  faulty(
    "kills a process left behind by a server, and ends the call without it",
    "grandchild",
    ({ call, computer, pids }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        const family = pids()
        assert.strictEqual(family.length, 2)
        assert.strictEqual(errorCodeOf(yield* call("die")), 4003)
        yield* gone(family)
      })
  )

  faulty("calls a tool with an invalid schema, with one warning", "badSchema", ({ call, computer, place }) =>
    Effect.gen(function* () {
      yield* until(computer, "s", "Ready")
      assert.strictEqual(firstText(yield* call("t")), "ok")
      assert.strictEqual(firstText(yield* call("t")), "ok")
      assert.strictEqual(place.warnings().length, 1)
      assert.include(place.warnings()[0], "tool schema invalid, parameters not validated")
    })
  )

  faulty("relays a content block of an unknown kind unchanged", "hologram", ({ call, computer }) =>
    Effect.gen(function* () {
      yield* until(computer, "s", "Ready")
      const { content } = yield* call("t")
      assert.deepStrictEqual<unknown>(content, [{ type: "hologram", beams: [1, { two: null }] }])
    })
  )
})

describe("fault of an MCP server between calls", () => {
  faulty(
    "coalesces a flood of list_changed into few listings and notifications, and applies the last one",
    "flood",
    ({ call, computer, journal, noted, place }) =>
      Effect.gen(function* () {
        const notice = "notify:update_tool_list"
        const notices = yield* listen(place, office)
        yield* until(computer, "s", "Ready")
        const before = noted("list")
        assert.strictEqual(firstText(yield* call("t")), "flooded")
        // Each listing differs: the test ends when the office has the last one.
        yield* becomes("a listing after the flood", () => {
          const last = journal().lastIndexOf("list")
          return last > journal().indexOf("flooded")
        })
        yield* until(computer, "s", "Ready", ({ tools }) =>
          tools.some(({ name }) => name === `listing${noted("list")}`)
        )
        yield* becomes("a notice", () => notices(notice) > 0)
        const listings = noted("list") - before
        // A thousand notifications. The number of listings depends on the load of the machine.
        assert.isAtMost(listings, 20)
        assert.isAtMost(notices(notice), listings)
      }),
    { args: ["1000"], office }
  )
})
