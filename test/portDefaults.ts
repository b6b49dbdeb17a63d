import { type Context, Effect, Layer, Option } from "effect"
import { ApprovalStore } from "../src/application/ports/approvals/ApprovalStore.ts"
import { Policy } from "../src/application/ports/approvals/Policy.ts"
import { AuditLog } from "../src/application/ports/AuditLog.ts"
import { SchemaValidator } from "../src/application/ports/SchemaValidator.ts"

/** A port as the test provides it, else this layer. */
const providedOr = <I, S>(port: Context.Key<I, S>, otherwise: Layer.Layer<I>): Layer.Layer<I> =>
  Layer.unwrap(
    Effect.map(
      Effect.serviceOption(port),
      Option.match({ onNone: () => otherwise, onSome: (service) => Layer.succeed(port, service) })
    )
  )

/** No policy, validation, store of approvals and audit, except those that the test provides. */
export const portDefaults = Layer.fresh(
  Layer.mergeAll(
    providedOr(ApprovalStore, ApprovalStore.layerNone),
    providedOr(AuditLog, AuditLog.layerNone),
    providedOr(Policy, Policy.layerNone),
    providedOr(SchemaValidator, SchemaValidator.layerAllowAll)
  )
)
