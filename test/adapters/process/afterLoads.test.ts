import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { runAfterFrees, runAfterLoads, runUnderLoad } from "../../../src/adapters/process/gcTuning.ts"

/** Runs the action with these busy shares, each for a number of seconds, and counts its runs at the end of each. */
const runsWith = Effect.fnUntraced(function* (phases: ReadonlyArray<readonly [share: number, seconds: number]>) {
  let runs = 0
  let share = 0
  yield* Effect.forkScoped(
    runAfterLoads(
      () => {
        runs += 1
      },
      () => share
    ),
    { startImmediately: true }
  )
  const counted: Array<number> = []
  for (const [next, seconds] of phases) {
    share = next
    yield* TestClock.adjust(`${seconds} seconds`)
    counted.push(runs)
  }
  return counted
})

describe("runUnderLoad", () => {
  /** Counts the runs with these busy shares, each for a number of seconds. */
  const runsUnder = Effect.fnUntraced(function* (phases: ReadonlyArray<readonly [share: number, seconds: number]>) {
    let runs = 0
    let share = 0
    yield* Effect.forkScoped(
      runUnderLoad(
        () => void (runs += 1),
        () => share
      ),
      { startImmediately: true }
    )
    for (const [next, seconds] of phases) {
      share = next
      yield* TestClock.adjust(`${seconds} seconds`)
    }
    return runs
  })

  it.effect.each([
    [
      "runs the action in the first second of a full load, once",
      [
        [1, 1],
        [0, 60],
        [1, 60]
      ],
      1
    ],
    ["runs it in the eighth second of a load of 0.12 from the start", [[0.12, 8]], 1],
    ["does not run it in the seventh", [[0.12, 7]], 0],
    [
      "runs it neither for the rest of a start",
      [
        [0.8, 1],
        [0, 60]
      ],
      0
    ],
    [
      "runs it after the start in the second of a load of 0.2",
      [
        [0.8, 1],
        [0, 1],
        [0.2, 1]
      ],
      1
    ],
    ["runs it for no quiet process", [[0.019, 86_400]], 0],
    [
      "forgets a short load in the quiet time after it",
      [
        [0, 1],
        [0.19, 1],
        [0, 1],
        [0.19, 1]
      ],
      0
    ]
  ] as const)("%s", ([, phases, expected]) =>
    Effect.gen(function* () {
      assert.strictEqual(yield* runsUnder(phases), expected)
    })
  )
})

describe("runAfterLoads", () => {
  it.effect("runs the action once, after the first quiet minute", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 59],
          [0, 1],
          [0, 600]
        ]),
        [0, 1, 1]
      )
    })
  )

  it.effect("runs it again, in the first quiet minute after a load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 60],
          [0.1, 1],
          [0, 59],
          [0, 1],
          [0, 600]
        ]),
        [1, 1, 1, 2, 2]
      )
    })
  )

  it.effect("waits for a whole minute after a pause of a load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 59],
          [1, 1],
          [0, 59],
          [0, 1]
        ]),
        [0, 0, 0, 1]
      )
    })
  )

  it.effect("counts less than two percent as quiet", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0.02, 600],
          [0.019, 60]
        ]),
        [0, 1]
      )
    })
  )

  it.effect("counts less than a tenth as no load", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(
        yield* runsWith([
          [0, 60],
          [0.09, 60],
          [0, 600]
        ]),
        [1, 1, 1]
      )
    })
  )
})

describe("runAfterFrees", () => {
  /** Counts both acts at the end of each phase: mebibytes that are freed at its start, and its seconds. */
  const actsAfter = Effect.fnUntraced(function* (phases: ReadonlyArray<readonly [mebibytes: number, seconds: number]>) {
    let collections = 0
    let releases = 0
    let freed = 1e9
    yield* Effect.forkScoped(
      runAfterFrees({ collect: () => void (collections += 1), release: () => void (releases += 1) }, () => freed),
      { startImmediately: true }
    )
    const counted: Array<string> = []
    for (const [mebibytes, seconds] of phases) {
      freed += mebibytes * 1024 * 1024
      yield* TestClock.adjust(`${seconds} seconds`)
      counted.push(`${collections} ${releases}`)
    }
    return counted
  })

  it.effect.each([
    [
      "collects within two seconds after 32 MiB, and releases at the end",
      [
        [32, 1],
        [0, 1],
        [0, 1],
        [0, 1],
        [0, 600]
      ],
      ["0 0", "1 0", "1 0", "1 1", "1 1"]
    ],
    [
      "collects within two seconds after a gigabyte",
      [
        [1024, 1],
        [0, 1],
        [0, 600]
      ],
      ["0 0", "1 0", "1 1"]
    ],
    [
      "releases three seconds after the last free",
      [
        [32, 2],
        [1, 3],
        [0, 1],
        [0, 600]
      ],
      ["1 0", "1 0", "1 1", "1 1"]
    ],
    [
      "does nothing for less than 32 MiB",
      [
        [31, 600],
        [0, 600]
      ],
      ["0 0", "0 0"]
    ],
    [
      "collects and releases small frees that add up",
      [
        [20, 600],
        [20, 4],
        [0, 600]
      ],
      ["0 0", "1 1", "1 1"]
    ],
    [
      "collects once what is freed meanwhile",
      [
        [32, 1],
        [32, 1],
        [0, 600]
      ],
      ["0 0", "1 0", "1 1"]
    ],
    [
      "collects while frees go on",
      [
        [16, 1],
        [16, 1],
        [16, 1],
        [16, 1],
        [16, 1],
        [16, 1]
      ],
      ["0 0", "0 0", "1 0", "1 0", "1 0", "2 0"]
    ],
    [
      "acts again after another event",
      [
        [64, 10],
        [64, 10]
      ],
      ["1 1", "2 2"]
    ],
    ["does nothing without frees", [[0, 3600]], ["0 0"]]
  ] as const)("%s", ([, phases, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* actsAfter(phases), [...expected])
    })
  )
})

describe("makeBusyShareReader", () => {
  it("reads the share of the time in which the process used a processor", () => {
    const module = new URL("../../../src/adapters/process/gcTuning.ts", import.meta.url).href
    // Other tests use this process.
    const program = `
      import { setTimeout } from "node:timers/promises"
      import { makeBusyShareReader } from "${module}"
      const read = makeBusyShareReader()
      await setTimeout(500)
      const idle = read()
      const used = () => process.cpuUsage().user / 1000
      for (const end = used() + 200; used() < end; );
      console.log(JSON.stringify([idle, read()]))
    `
    const output = execFileSync(process.execPath, ["--input-type=module", "--eval", program], { encoding: "utf8" })
    const [idle, busy] = JSON.parse(output) as [number, number]
    assert.isAbove(busy, idle)
    assert.isBelow(idle, 0.5)
  })
})
