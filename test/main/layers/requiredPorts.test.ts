import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger } from "effect"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import * as MemoryTransport from "../../../src/adapters/memory/MemoryTransport.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { Inputs } from "../../../src/application/computer/inputs/Inputs.ts"
import type { JoinFailed } from "../../../src/application/member/OfficeMember.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { ApprovalStore } from "../../../src/application/ports/approvals/ApprovalStore.ts"
import { Policy } from "../../../src/application/ports/approvals/Policy.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"
import { SchemaValidator } from "../../../src/application/ports/SchemaValidator.ts"
import type { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { computerLayer } from "../../../src/main/layers/computerLayer.ts"
import { serverLayer, type ServerStartFailed } from "../../../src/main/layers/serverLayer.ts"

const options = { name: "desk", config: { inputs: [], servers: {} } }

/** The defect of a layer that lacks a port. */
const defectOf = <A, E>(incomplete: Layer.Layer<A, E>) =>
  Effect.map(Effect.exit(Effect.scoped(Layer.build(Layer.provide(incomplete, Logger.layer([]))))), (built) =>
    String(Exit.findDefect(built))
  )

describe("a host that forgets a port which decides what runs or records it", () => {
  const bare = Computer.layer(options).pipe(
    Layer.provide([MemoryTransport.layer(), MemoryMcp.layer(new Map()), Inputs.layer()])
  )
  const { layerAllowAll: validation } = SchemaValidator
  const { layerNone: audit } = AuditLog
  const { layerNone: policy } = Policy
  const { layerNone: store } = ApprovalStore

  it.effect("gets a type error and no Computer without a policy", () =>
    Effect.gen(function* () {
      // @ts-expect-error: the policy is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Computer, JoinFailed> = Layer.provide(bare, [validation, audit, store])
      assert.include(yield* defectOf(incomplete), "Policy")
    })
  )

  it.effect("gets a type error and no Computer without a validator", () =>
    Effect.gen(function* () {
      // @ts-expect-error: the validator is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Computer, JoinFailed> = Layer.provide(bare, [policy, audit, store])
      assert.include(yield* defectOf(incomplete), "SchemaValidator")
    })
  )

  it.effect("gets a type error and no Computer without an audit", () =>
    Effect.gen(function* () {
      // @ts-expect-error: the audit is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Computer, JoinFailed> = Layer.provide(bare, [policy, validation, store])
      assert.include(yield* defectOf(incomplete), "AuditLog")
    })
  )

  it.effect("gets a type error and no Computer without a store of approvals", () =>
    Effect.gen(function* () {
      // @ts-expect-error: the store is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Computer, JoinFailed> = Layer.provide(bare, [policy, validation, audit])
      assert.include(yield* defectOf(incomplete), "ApprovalStore")
    })
  )

  it.live("gets a type error and no Computer from computerLayer without a policy", () =>
    Effect.gen(function* () {
      const unruled = computerLayer({ ...options, url: "http://127.0.0.1:1" })
      // @ts-expect-error: the policy is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Computer, JoinFailed> = Layer.provide(unruled, audit)
      assert.include(yield* defectOf(incomplete), "Policy")
    })
  )

  it.live("gets a type error and no Server without an audit", () =>
    Effect.gen(function* () {
      const open = serverLayer().pipe(Layer.provide(Authenticator.layerAllowAll))
      // @ts-expect-error: the audit is missing.
      // @effect-diagnostics-next-line missingLayerContext:off
      const incomplete: Layer.Layer<Server, ServerStartFailed> = open
      assert.include(yield* defectOf(incomplete), "AuditLog")
    })
  )
})
