import { Context, type Effect, type Stream } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { PackRoute } from "../../domain/packs/offer.ts"
import type { McpProgress, McpSession } from "../ports/McpSession.ts"
import type { PackCall, PackFailure } from "../ports/PackLoader.ts"
import type { PackBusy, PackTimeout } from "./PackCalls.ts"

/** Where a pack stands. */
export type PackStatus =
  | { readonly _tag: "Disabled" }
  | { readonly _tag: "Installing" }
  | { readonly _tag: "Loading" }
  /** What it offers may be used; `warnings` say what is odd about it. */
  | {
      readonly _tag: "Ready"
      readonly tools: ReadonlyArray<JsonObject>
      readonly routes: ReadonlyArray<PackRoute>
      readonly warnings: ReadonlyArray<string>
    }
  | { readonly _tag: "Failed"; readonly reason: string }

/** A pack, as its users see it. */
export interface PackView {
  readonly name: string
  /** Its folder, or its only file, by absolute path. */
  readonly path: string
  readonly description: string
  readonly usage: string
  readonly status: PackStatus
}

/** A route that can be called now. */
export interface HostedRoute {
  readonly pack: PackView
  readonly route: PackRoute
}

/** Folders of tools, found, kept up to date, and called (seed 004). */
export class PackHost extends Context.Service<
  PackHost,
  {
    /** All packs that were found, by name in order. */
    readonly packs: Effect.Effect<ReadonlyArray<PackView>>
    /** The same now, and after every change. */
    readonly changes: Stream.Stream<ReadonlyArray<PackView>>
    /** The route of an endpoint, if there is one now. */
    readonly route: (endpoint: string) => HostedRoute | undefined
    /** All routes that can be called now. */
    readonly routes: () => ReadonlyArray<HostedRoute>
    /** Calls the tool of a route, and gives its result as MCP has it. Interrupting it cancels the call. */
    readonly call: (
      hosted: HostedRoute,
      call: Omit<PackCall, "tool">,
      onProgress?: (progress: McpProgress) => Effect.Effect<void>
    ) => Effect.Effect<JsonObject, PackFailure | PackTimeout | PackBusy>
    /** All tools of all packs as one MCP peer. */
    readonly session: McpSession
    /** Looks whether anything has changed, and waits until that is loaded. */
    readonly rescan: Effect.Effect<void>
  }
>()("a2c-smcp/application/packs/PackHost") {}
