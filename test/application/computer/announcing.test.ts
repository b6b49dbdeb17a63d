import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer as memoryMcp, makeMemoryServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Inputs } from "../../../src/application/computer/Inputs.ts"
import { makeSecrets } from "../../../src/application/computer/Secrets.ts"
import { makeSessionPool } from "../../../src/application/computer/SessionPool.ts"
import type { Part } from "../../../src/domain/office/notice.ts"
import { resource } from "../../conformance/members.ts"
import { setupOf } from "./stage.ts"

const window = "window://com.x.app/one"
const document = "dpe://com.x.app/doc"

describe("what the office is told of", () => {
  it.effect("a configuration that is the same again is not told", () =>
    Effect.gen(function* () {
      const told: Array<Part> = []
      const tell = (part: Part) => Effect.sync(() => void told.push(part))
      const pool = yield* makeSessionPool(setupOf([]), makeSecrets(), tell)
      yield* pool.apply(setupOf([]))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(told, [])
    }).pipe(Effect.provide(Layer.merge(memoryMcp(new Map()), Inputs.layer())))
  )

  it.effect("new contents of a window and of a document are told at once, each as what it is", () =>
    Effect.gen(function* () {
      const told: Array<Part> = []
      const tell = (part: Part) => Effect.sync(() => void told.push(part))
      const alpha = yield* makeMemoryServer({ resources: [resource(window), resource(document)] })
      yield* Effect.gen(function* () {
        yield* makeSessionPool(setupOf(["alpha"]), makeSecrets(), tell)
        yield* TestClock.adjust("1 minute")
        told.length = 0
        for (const uri of [window, document]) {
          yield* alpha.tell({ _tag: "ResourceUpdated", uri })
          yield* TestClock.adjust(0)
        }
        assert.deepStrictEqual(told, ["desktop", "finder"])
      }).pipe(Effect.provide(Layer.merge(memoryMcp(new Map([["alpha", alpha]])), Inputs.layer())))
    })
  )
})
