import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Readiness } from "../../../../src/application/server/observability/Readiness.ts"
import { effectWith } from "../../../testWith.ts"

const make = Readiness.use((service) => Effect.succeed(service)).pipe(Effect.provide(Layer.fresh(Readiness.layer)))

const test = effectWith(make)

describe("the readiness of a Server", () => {
  test("begins as starting, and drains only when it says so", ({ isDraining, setState, state }) => {
    assert.deepStrictEqual([state(), isDraining()], [{ _tag: "Starting" }, false])
    setState({ _tag: "Ready" })
    assert.isFalse(isDraining())
    setState({ _tag: "Draining", reason: "r" })
    assert.isTrue(isDraining())
  })

  test("has the error of a component as long as its check gives one", ({ components, registerComponent }) => {
    let error: string | undefined = "down"
    registerComponent("registry", () => error)
    assert.deepStrictEqual([...components()], [["registry", "down"]])
    error = undefined
    assert.deepStrictEqual([...components()], [["registry", undefined]])
  })
})
