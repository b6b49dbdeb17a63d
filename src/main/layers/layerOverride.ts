import { type Context, Effect, Layer } from "effect"
import { definedOnly } from "../../domain/objects.ts"

/** Replaces the given members of a reference; missing and undefined ones keep the value of the reference. */
export const layerOverride = <T extends object>(
  reference: Context.Reference<T>,
  members: { readonly [K in keyof T]?: T[K] | undefined } = {}
): Layer.Layer<never> =>
  Layer.effect(
    reference,
    Effect.map(reference, (value): T => ({ ...value, ...definedOnly(members) }))
  )
