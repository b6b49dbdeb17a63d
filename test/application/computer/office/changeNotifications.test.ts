import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layer as memoryMcp, makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { Inputs } from "../../../../src/application/computer/inputs/Inputs.ts"
import { makeSecrets } from "../../../../src/application/computer/inputs/Secrets.ts"
import { makeServerSupervisor } from "../../../../src/application/computer/servers/ServerSupervisor.ts"
import type { ComputerPart } from "../../../../src/domain/model/Notification.ts"
import { resource } from "../../../conformance/members.ts"
import { setupOf } from "../testComputer.ts"

const window = "window://com.x.app/one"
const document = "dpe://com.x.app/doc"

describe("change notification", () => {
  it.effect("skips an unchanged configuration", () =>
    Effect.gen(function* () {
      const notified: Array<ComputerPart> = []
      const notify = (part: ComputerPart) => Effect.sync(() => void notified.push(part))
      const supervisor = yield* makeServerSupervisor(setupOf([]), makeSecrets(), notify)
      yield* supervisor.reconfigure(setupOf([]))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, [])
    }).pipe(Effect.provide(Layer.merge(memoryMcp(new Map()), Inputs.layer())))
  )

  it.effect("announces new contents of a window and of a document at once", () =>
    Effect.gen(function* () {
      const notified: Array<ComputerPart> = []
      const notify = (part: ComputerPart) => Effect.sync(() => void notified.push(part))
      const alpha = yield* makeMemoryMcpServer({ resources: [resource(window), resource(document)] })
      yield* Effect.gen(function* () {
        yield* makeServerSupervisor(setupOf(["alpha"]), makeSecrets(), notify)
        yield* TestClock.adjust("1 minute")
        notified.length = 0
        for (const uri of [window, document]) {
          yield* alpha.notify({ _tag: "ResourceUpdated", uri })
          yield* TestClock.adjust(0)
        }
        assert.deepStrictEqual(notified, ["desktop", "finder"])
      }).pipe(Effect.provide(Layer.merge(memoryMcp(new Map([["alpha", alpha]])), Inputs.layer())))
    })
  )
})
