import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
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

  test("has a component until its scope closes", function* ({ components, registerComponent }) {
    const scope = yield* Scope.make()
    yield* Scope.provide(
      registerComponent("registry", () => "down"),
      scope
    )
    assert.deepStrictEqual([...components()], [["registry", "down"]])
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual([...components()], [])
  })

  test("keeps the successor of a component whose scope closes", function* ({ components, registerComponent }) {
    const scope = yield* Scope.make()
    yield* Scope.provide(
      registerComponent("registry", () => "old"),
      scope
    )
    yield* registerComponent("registry", () => undefined)
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual([...components()], [["registry", undefined]])
  })
})
