import { execFileSync } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { followLoads, runAfterFrees } from "../../../src/adapters/process/gcTuning.ts"

/** The loads and the quiet minutes after them so far, at the end of each phase: a busy share for a number of seconds. */
const actsAt = Effect.fnUntraced(function* (phases: ReadonlyArray<readonly [share: number, seconds: number]>) {
  let loads = 0
  let quiet = 0
  let share = 0
  yield* Effect.forkScoped(
    followLoads({ onLoad: () => void (loads += 1), onQuiet: () => void (quiet += 1) }, () => share),
    { startImmediately: true }
  )
  const counted: Array<string> = []
  for (const [next, seconds] of phases) {
    share = next
    yield* TestClock.adjust(`${seconds} seconds`)
    counted.push(`${loads} ${quiet}`)
  }
  return counted
})

describe("followLoads", () => {
  it.effect.each([
    [
      "acts once in the first second of a full load",
      [
        [1, 1],
        [1, 59]
      ],
      ["1 0", "1 0"]
    ],
    [
      "takes a load of 0.12 from the start as one in its eighth second",
      [
        [0.12, 7],
        [0.12, 1]
      ],
      ["0 0", "1 0"]
    ],
    [
      "takes the rest of a start as no load",
      [
        [0.8, 1],
        [0, 60]
      ],
      ["0 0", "0 1"]
    ],
    [
      "takes a second of 0.2 after the start as a load",
      [
        [0.8, 1],
        [0, 1],
        [0.2, 1]
      ],
      ["0 0", "0 0", "1 0"]
    ],
    [
      "forgets a short load in the quiet second after it",
      [
        [0, 1],
        [0.19, 1],
        [0, 1],
        [0.19, 1]
      ],
      ["0 0", "0 0", "0 0", "0 0"]
    ],
    [
      "acts once after the first quiet minute",
      [
        [0, 59],
        [0, 1],
        [0, 600]
      ],
      ["0 0", "0 1", "0 1"]
    ],
    [
      "acts in the first quiet minute after a load",
      [
        [0, 60],
        [0.2, 1],
        [0, 59],
        [0, 1],
        [0, 600]
      ],
      ["0 1", "1 1", "1 1", "1 2", "1 2"]
    ],
    [
      "waits for a whole minute after a pause of a load",
      [
        [0, 59],
        [1, 1],
        [0, 59],
        [0, 1]
      ],
      ["0 0", "1 0", "1 0", "1 1"]
    ],
    [
      "takes less than two percent as quiet",
      [
        [0.02, 44],
        [0.019, 60]
      ],
      ["0 0", "0 1"]
    ],
    [
      "acts after no quiet minute that follows another",
      [
        [0, 60],
        [0.19, 1],
        [0, 600]
      ],
      ["0 1", "0 1", "0 1"]
    ]
  ] as const)("%s", ([, phases, expected]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* actsAt(phases), [...expected])
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
      "releases three seconds after the last of 4 MiB",
      [
        [2, 1],
        [2, 3],
        [0, 1],
        [0, 600]
      ],
      ["0 0", "0 0", "0 1", "0 1"]
    ],
    [
      "does nothing for less than 4 MiB",
      [
        [3, 600],
        [0, 600]
      ],
      ["0 0", "0 0"]
    ],
    [
      "releases small frees that add up",
      [
        [3, 600],
        [3, 4],
        [0, 600]
      ],
      ["0 0", "0 1", "0 1"]
    ],
    [
      "collects once, and releases, after an event without a pause",
      [
        [32, 2],
        [1, 3],
        [0, 1],
        [0, 600]
      ],
      ["1 0", "1 0", "1 1", "1 1"]
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
