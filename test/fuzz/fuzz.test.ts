import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { fuzz, maxHeap, type Outcome, shares } from "./fuzz.ts"
import { inputFrom } from "./mutate.ts"
import { parseOptions } from "./options.ts"
import { randomOf } from "./random.ts"
import { faultText, summary, table } from "./report.ts"
import { pure, type Surface } from "./Surface.ts"
import { surfaces } from "./surfaces/all.ts"

/** The number of inputs for all surfaces together, and the seed; `npm run fuzz` runs more. */
const inputs = 6000
const seed = 1

const parts = shares(surfaces, inputs)

/** A surface with a fault. */
const broken = (more: Partial<Surface>): Surface => ({
  name: "broken",
  about: "",
  weight: 1,
  lanes: 1,
  corpus: [Buffer.from('{"a":1}'), Buffer.from("[1,2]")],
  words: ["null"],
  longest: 1000,
  open: () => Effect.succeed(pure(() => "accepted")),
  ...more
})

const faultOf = (outcome: Outcome) => {
  if (outcome.fault === undefined) throw new Error("no fault was found")
  return outcome.fault
}

describe("fuzzer", () => {
  describe.each(surfaces.map((surface, index) => [surface.name, surface, parts[index] ?? 0] as const))(
    "%s",
    (_, surface, part) => {
      it.live(
        "handles every input",
        () =>
          Effect.gen(function* () {
            const outcome = yield* fuzz(surface, { seed, inputs: part })
            assert.isUndefined(
              outcome.fault,
              outcome.fault && faultText(surface.name, seed, outcome.fault).slice(0, 4000)
            )
            assert.strictEqual(outcome.inputs, part)
            // If all inputs were rejected, nothing behind the first check would be tested.
            assert.isAbove(outcome.accepted, 0)
            assert.isAbove(outcome.refused, 0)
            assert.include(table([outcome]), surface.name)
          }),
        180_000
      )
    }
  )

  it("repeats the inputs of a seed and differs between seeds", () => {
    const surface = broken({})
    const made = (from: number) =>
      Array.from({ length: 200 }, (_, index) => inputFrom(randomOf(from, surface.name, index), surface).toString("hex"))
    assert.deepStrictEqual(made(1), made(1))
    assert.notDeepEqual(made(1), made(2))
    assert.isAbove(new Set(made(1)).size, 100)
  })

  it.live("finds an exception and names the input that reproduces it", () =>
    Effect.gen(function* () {
      const surface = broken({
        open: () =>
          Effect.succeed(
            pure((input) => {
              if (input.includes("null")) throw new Error("cannot read null")
              return "accepted"
            })
          )
      })
      const { at, what } = faultOf(yield* fuzz(surface, { seed, inputs: 5000 }))
      assert.include(what, "cannot read null")
      const again = faultOf(yield* fuzz(surface, { seed, inputs: 1, from: at?.index ?? 0 }))
      assert.deepStrictEqual(again.at, at)
      assert.include(faultText("broken", seed, again), `--from ${at?.index} --inputs 1`)
    })
  )

  it.live("finds noted errors, slow inputs and memory growth", () =>
    Effect.gen(function* () {
      const noting = broken({
        open: (note) =>
          Effect.succeed(
            pure((_, random) => {
              if (random(100) === 0) note("an error in the log")
              return "accepted"
            })
          )
      })
      assert.strictEqual(faultOf(yield* fuzz(noting, { seed, inputs: 5000 })).what, "an error in the log")
      const slow = broken({
        open: () =>
          Effect.succeed(
            pure(() => {
              const begun = performance.now()
              while (performance.now() - begun < 2100);
              return "accepted"
            })
          )
      })
      assert.include(faultOf(yield* fuzz(slow, { seed, inputs: 1 })).what, "blocked everything else")
      const kept: Array<Buffer> = []
      const leaking = broken({
        open: () =>
          Effect.succeed(
            pure(() => {
              kept.push(Buffer.alloc(64 * 1024, 1))
              return "accepted"
            })
          )
      })
      assert.match(
        faultOf(yield* fuzz(leaking, { seed, inputs: 3000 })).what,
        /the live heap grew from \d+ to \d+ bytes/
      )
      kept.length = 0
    })
  )

  it.live("finds leaks and unhandled rejections", () =>
    Effect.gen(function* () {
      const leaving = broken({
        open: () =>
          Effect.succeed({
            ...pure(() => "accepted"),
            settle: () => Promise.reject(new Error("a connection is left"))
          })
      })
      assert.include(faultOf(yield* fuzz(leaving, { seed, inputs: 10 })).what, "a connection is left")
      assert.include(
        faultOf(
          yield* fuzz(
            broken({
              open: () => Effect.succeed({ ...pure(() => "accepted"), feed: () => Promise.reject(new Error("no")) })
            }),
            { seed, inputs: 10 }
          )
        ).what,
        "no"
      )
    })
  )

  it("allows a tenth more memory after a long run, and compiled code after a short one", () => {
    const before = 100_000_000
    assert.approximately(maxHeap(10_000, before), 1.1 * before, 1)
    assert.isAbove(maxHeap(9999, before), 1.1 * before + 1_000_000)
  })

  it.live("reports the inputs, the memory growth and the faults", () =>
    Effect.gen(function* () {
      const fine = yield* fuzz(broken({}), { seed, inputs: 20 })
      const grown = { ...fine, heapBefore: 1000, heapAfter: 1050 }
      assert.match(table([grown]), /growth, %[^]* 5\.0$/)
      assert.match(summary([grown, grown]), /^40 inputs in \d+ seconds: no faults$/)
      const fault = { what: "it is", at: undefined, before: [] }
      assert.include(summary([fine, { ...fine, fault }]), "faults in broken")
    })
  )

  it("parses the command line", () => {
    const options = parseOptions(["--inputs", "10", "--seed", "7", "--surface", "uris"], surfaces)
    assert.deepStrictEqual([options.inputs, options.seed, options.surfaces.map(({ name }) => name)], [10, 7, ["uris"]])
    assert.throws(() => parseOptions(["--inputs", "0"], surfaces), /--inputs must be/)
    assert.throws(() => parseOptions(["--from", ""], surfaces), /--from must be/)
    assert.throws(() => parseOptions(["--surface", "none"], surfaces), /There is no surface "none"/)
  })
})
