import { Context, Effect, type Scope } from "effect"

/** Does a Server take members? */
export type ReadinessState =
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Draining"; readonly reason: string }

/**
 * Where a Server says whether it takes members. A part that fails, such as a registry that several Servers share, does
 * not make it unready: it fails for all of them at once, and taking all of them out of service helps nobody whose
 * office could go on. It is told beside the state, for people and alarms.
 */
export interface Readiness {
  readonly state: () => ReadinessState
  readonly setState: (state: ReadinessState) => void
  /** Shows a part for as long as the scope: `check` gives what is wrong with it, or `undefined`. It must be cheap. */
  readonly registerComponent: (
    name: string,
    check: () => string | undefined
  ) => Effect.Effect<void, never, Scope.Scope>
  /** Every part, and what is wrong with it. */
  readonly components: () => ReadonlyMap<string, string | undefined>
}

/** A Readiness of its own, which starts with `Starting`. */
export const makeReadiness = (): Readiness => {
  const checks = new Map<string, () => string | undefined>()
  let state: ReadinessState = { _tag: "Starting" }
  return {
    state: () => state,
    setState: (next) => {
      state = next
    },
    registerComponent: (name, check) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => checks.set(name, check)),
          () =>
            Effect.sync(() => {
              if (checks.get(name) === check) checks.delete(name)
            })
        )
      ),
    components: () => new Map([...checks].map(([name, check]) => [name, check()]))
  }
}

/** The readiness of a Server; says nothing to anybody unless somebody looks. */
export const Readiness = Context.Reference<Readiness>("a2c-smcp/application/server/Readiness", {
  defaultValue: () => ({
    state: () => ({ _tag: "Ready" }),
    setState: () => undefined,
    registerComponent: () => Effect.void,
    components: () => new Map()
  })
})
