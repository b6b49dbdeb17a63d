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

const script = fileURLToPath(new URL("../fixtures/faults/server.ts", import.meta.url))

interface Case {
  readonly place: Place
  readonly computer: Computer["Service"]
  /** Everything the server has noted. */
  readonly journal: () => ReadonlyArray<string>
  /** How often the server has noted this. */
  readonly noted: (line: string) => number
  readonly call: (tool: string) => Effect.Effect<ToolResult>
  /** Every process there has been: the servers, what guards them, and what they have started. */
  readonly pids: () => ReadonlyArray<number>
}

interface Circumstances {
  readonly args?: ReadonlyArray<string>
  readonly office?: string
  readonly settings?: Partial<ComputerSettings>
}

const office = "o"

/** A Computer with one server `s` of this mode; when it has closed, nothing that the server started is left. */
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

const firstText = ({ content }: ToolResult): string => String(content[0]?.["text"])

describe("faults of an MCP server at its start", () => {
  faulty(
    "one that never answers is given up after the connect timeout, and tried again later",
    "silent",
    ({ computer }) =>
      Effect.gen(function* () {
        const { reason } = yield* until(computer, "s", "BackingOff")
        assert.strictEqual(reason, "it did not answer within 0.5 seconds")
      }),
    { settings: { connectTimeout: Duration.millis(500) } }
  )

  faulty("one that ends at once is tried again after growing waits", "exits", ({ computer, noted }) =>
    Effect.gen(function* () {
      const waits = yield* computer.changes.pipe(
        Stream.map((states) => states.get("s")),
        Stream.filter((state) => state?._tag === "BackingOff"),
        Stream.mapEffect(({ reason, retryAt: due }) =>
          Effect.map(Clock.currentTimeMillis, (now) => ({ reason, wait: due - now }))
        ),
        Stream.take(3),
        Stream.runCollect,
        Effect.timeout(testTimeout)
      )
      assert.deepStrictEqual(
        waits.map(({ reason }) => reason),
        Array.from({ length: 3 }, () => "the process ended with code 9: no licence found")
      )
      // Half a second, doubled twice, each with a fifth of spread, and less what it took to hear of it.
      const [first = 0, second = 0, third = 0] = waits.map(({ wait }) => wait)
      assert.isTrue(first <= 600 && second > 600 && second <= 1200, `${first}, ${second}`)
      assert.isTrue(third > 1200 && third <= 2400, `${third}`)
      assert.strictEqual(noted("start"), 3)
    })
  )

  for (const [mode, reason] of [
    ["repeating", "the listing never ends: a cursor was repeated"],
    ["endless", "the listing never ends: it has more than 1000 pages"]
  ] as const) {
    faulty(
      `one whose list of tools never ends is given up with that reason (${mode})`,
      mode,
      ({ computer }) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* until(computer, "s", "BackingOff")).reason, reason)
          assert.strictEqual((yield* computer.catalogue).entries.size, 0)
        })
    )
  }

  faulty(
    "noise between the messages costs one warning, and the server works",
    "noisy",
    ({ call, computer, place }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        assert.strictEqual(firstText(yield* call("t")), "ok")
        assert.strictEqual(place.warnings().length, 1)
        assert.include(place.warnings()[0], "output ignored")
      })
  )

  faulty("a server without any tool runs", "empty", ({ computer }) =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* until(computer, "s", "Ready")).tools, [])
    })
  )
})

describe("faults of an MCP server in a call", () => {
  faulty(
    "one that ends in a call ends the call with 4003, is not asked again, and comes back by itself",
    "plain",
    ({ call, computer, noted }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        const [took, result] = yield* Effect.timed(call("die"))
        assert.strictEqual(errorCodeOf(result), 4003)
        assert.isBelow(Duration.toMillis(took), 5000)
        const { reason } = yield* until(computer, "s", "BackingOff")
        assert.include(reason, "code 7")
        yield* until(computer, "s", "Ready")
        assert.strictEqual(firstText(yield* call("t")), "ok")
        assert.deepStrictEqual([noted("call die"), noted("call t"), noted("start")], [1, 1, 2])
      })
  )

  const mebibyte = 1024 * 1024
  faulty(
    "a result of 11 MB arrives whole",
    "large",
    ({ call, computer }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        assert.strictEqual(firstText(yield* call("t")).length, 11 * mebibyte)
      }),
    { args: [String(11 * mebibyte)] }
  )

  faulty(
    "a result over the limit ends the call with 4003, and the session lives",
    "large",
    ({ call, computer, noted }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        const result = yield* call("t")
        assert.strictEqual(errorCodeOf(result), 4003)
        assert.strictEqual(firstText(result), `The answer is larger than ${64 * mebibyte} bytes`)
        assert.strictEqual((yield* computer.servers).get("s")?._tag, "Ready")
        assert.strictEqual(noted("start"), 1)
      }),
    { args: [String(65 * mebibyte)] }
  )

  faulty(
    "a process left behind by a server that died ends with the session, and the call does not wait for it",
    "grandchild",
    ({ call, computer, pids }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        const family = pids()
        assert.strictEqual(family.length, 3)
        assert.strictEqual(errorCodeOf(yield* call("die")), 4003)
        yield* gone(family)
      })
  )

  faulty(
    "a tool whose schema nobody understands is callable, with one warning",
    "badSchema",
    ({ call, computer, place }) =>
      Effect.gen(function* () {
        yield* until(computer, "s", "Ready")
        assert.strictEqual(firstText(yield* call("t")), "ok")
        assert.strictEqual(firstText(yield* call("t")), "ok")
        assert.strictEqual(place.warnings().length, 1)
        assert.include(place.warnings()[0], "the schema is unusable")
      })
  )

  faulty("a content block of a kind nobody knows goes through untouched", "hologram", ({ call, computer }) =>
    Effect.gen(function* () {
      yield* until(computer, "s", "Ready")
      assert.deepStrictEqual((yield* call("t")).content, [{ type: "hologram", beams: [1, { two: null }] }])
    })
  )
})

describe("faults of an MCP server between the calls", () => {
  faulty(
    "a flood of list_changed costs few listings and few notices, and its last state is known",
    "flood",
    ({ call, computer, journal, noted, place }) =>
      Effect.gen(function* () {
        const notice = "notify:update_tool_list"
        const told = yield* listen(place, office)
        yield* until(computer, "s", "Ready")
        const before = noted("list")
        assert.strictEqual(firstText(yield* call("t")), "flooded")
        // What the server lists differs every time: all is done when the office can see what was listed last.
        yield* becomes("a listing after the flood", () => {
          const last = journal().lastIndexOf("list")
          return last > journal().indexOf("flooded")
        })
        yield* until(computer, "s", "Ready", ({ tools }) =>
          tools.some(({ name }) => name === `listing${noted("list")}`)
        )
        yield* becomes("a notice", () => told(notice) > 0)
        const listings = noted("list") - before
        // A thousand notifications; how many listings fit between them is a matter of how busy the machine is.
        assert.isAtMost(listings, 20)
        assert.isAtMost(told(notice), listings)
      }),
    { args: ["1000"], office }
  )
})
