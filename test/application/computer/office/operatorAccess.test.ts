import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerOutputs } from "../../../../src/application/computer/office/operatorAccess.ts"

/** The bounds that docs/limits.md states. */
const bounds = { lines: 50, characters: 500 }

const sharing = (stderr = true) => {
  const secrets = makeSecrets()
  secrets.add("wonderland")
  return makeServerOutputs(secrets, { stderr })
}

describe("the shared output of MCP servers", () => {
  it("is kept for each server, without secrets", () => {
    const { linesOf, record } = sharing()
    record("alpha", "key wonderland refused")
    record("beta", "loading")
    record("alpha", "retrying")
    assert.deepStrictEqual(linesOf("alpha"), ["key <redacted> refused", "retrying"])
    assert.deepStrictEqual(linesOf("beta"), ["loading"])
    assert.deepStrictEqual(linesOf("gamma"), [])
  })

  it(`has the last ${bounds.lines} lines, of ${bounds.characters} characters each`, () => {
    const { linesOf, record } = sharing()
    const lines = Array.from({ length: bounds.lines + 1 }, (_, at) => `line ${at}`)
    for (const line of lines.slice(0, -1)) record("alpha", line)
    assert.deepStrictEqual(linesOf("alpha"), lines.slice(0, -1))
    record("alpha", lines.at(-1) ?? "")
    assert.deepStrictEqual(linesOf("alpha"), lines.slice(1))
    record("alpha", "x".repeat(bounds.characters))
    assert.lengthOf(linesOf("alpha")?.at(-1) ?? "", bounds.characters)
    record("alpha", "x".repeat(bounds.characters + 1))
    assert.lengthOf(linesOf("alpha")?.at(-1) ?? "", bounds.characters)
  })

  it("is cut behind its secrets: no part of one that would be cut is shown", () => {
    const { linesOf, record } = sharing()
    const before = "x".repeat(bounds.characters - 3)
    record("alpha", `${before}wonderland`)
    assert.deepStrictEqual(linesOf("alpha"), [`${before}<re`])
  })

  it("does not exist where the owner does not share it", () => {
    const { linesOf, record } = sharing(false)
    record("alpha", "loading")
    assert.isUndefined(linesOf("alpha"))
  })

  it.effect("wakes all that wait for a change, by its next line and by hand", () =>
    Effect.gen(function* () {
      const { changed, record, wake } = sharing()
      for (const change of [() => record("alpha", "loading"), wake]) {
        const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(changed, { startImmediately: true }))
        yield* Effect.yieldNow
        assert.deepStrictEqual(
          waiting.map((fiber) => fiber.pollUnsafe()),
          [undefined, undefined]
        )
        change()
        yield* Effect.forEach(waiting, (fiber) =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => assert.isDefined(fiber.pollUnsafe()))
          )
        )
      }
    })
  )

  it.effect("wakes what waits again for the next change", () =>
    Effect.gen(function* () {
      const { changed, record } = sharing()
      let woken = 0
      const waiting = Effect.andThen(
        changed,
        Effect.sync(() => void woken++)
      )
      yield* Effect.forkChild(Effect.repeat(waiting, { times: 2 }), { startImmediately: true })
      for (const count of [1, 2, 3]) {
        yield* Effect.yieldNow
        record("alpha", "loading")
        yield* Effect.yieldNow
        assert.strictEqual(woken, count)
      }
    })
  )
})
