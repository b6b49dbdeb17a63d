import type { JsonObject } from "../../domain/json.ts"
import type { PackRoute } from "../../domain/packs/PackManifest.ts"

/** State of a pack. */
export type PackStatus =
  | { readonly _tag: "Disabled" }
  | { readonly _tag: "Installing" }
  | { readonly _tag: "Loading" }
  | {
      readonly _tag: "Ready"
      readonly tools: ReadonlyArray<JsonObject>
      readonly routes: ReadonlyArray<PackRoute>
      readonly warnings: ReadonlyArray<string>
    }
  | { readonly _tag: "Failed"; readonly reason: string }

/** A pack as the users of its host see it. */
export interface PackView {
  readonly name: string
  /** Absolute path of its folder, or of its only file. */
  readonly path: string
  readonly description: string
  readonly usage: string
  readonly status: PackStatus
}

/** A callable route. */
export interface HostedRoute {
  readonly pack: PackView
  readonly route: PackRoute
}
