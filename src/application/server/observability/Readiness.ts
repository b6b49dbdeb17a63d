import { Context, Layer } from "effect"

export type ReadinessState =
  | { readonly _tag: "Starting" }
  | { readonly _tag: "Ready" }
  | { readonly _tag: "Draining"; readonly reason: string }

/**
 * The readiness of one Server, and the health of its components. An unhealthy component does not make the Server
 * unready: a shared registry fails for all Servers at once, and a load balancer must not remove all of them.
 */
export class Readiness extends Context.Service<
  Readiness,
  {
    readonly state: () => ReadinessState
    readonly setState: (state: ReadinessState) => void
    /** True once the Server shuts down: joins and new calls are rejected. */
    readonly isDraining: () => boolean
    /** Adds a component of the Server. `check` gives its error, or `undefined`, and must be cheap. */
    readonly registerComponent: (name: string, check: () => string | undefined) => void
    /** The error of each component; `undefined` for a healthy one. */
    readonly components: () => ReadonlyMap<string, string | undefined>
  }
>()("a2c-smcp/application/server/observability/Readiness") {
  /** Starts as `Starting`. Every Server needs its own. */
  static readonly layer: Layer.Layer<Readiness> = Layer.sync(Readiness, () => {
    const checks = new Map<string, () => string | undefined>()
    let state: ReadinessState = { _tag: "Starting" }
    return Readiness.of({
      state: () => state,
      setState: (next) => void (state = next),
      isDraining: () => state._tag === "Draining",
      registerComponent: (name, check) => void checks.set(name, check),
      components: () => new Map([...checks].map(([name, check]) => [name, check()]))
    })
  })
}
