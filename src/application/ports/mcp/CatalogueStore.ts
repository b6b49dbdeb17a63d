import { Context, Data, type Effect } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { CatalogueKey } from "../../../domain/tools/ServerCatalogue.ts"

/** A catalogue cannot be read or written. The message names the location. */
export class CatalogueUnavailable extends Data.TaggedError("CatalogueUnavailable")<{ readonly message: string }> {}

/**
 * Keeps the catalogues of lazy MCP servers with their digests, which the Computer verifies. Without this port they end with
 * the Computer, and each lazy server starts once to be listed.
 */
export class CatalogueStore extends Context.Service<
  CatalogueStore,
  {
    /** What was saved last for this key; `undefined` for an unknown one. */
    readonly load: (key: CatalogueKey) => Effect.Effect<JsonObject | undefined, CatalogueUnavailable>
    readonly save: (key: CatalogueKey, sealed: JsonObject) => Effect.Effect<void, CatalogueUnavailable>
  }
>()("a2c-smcp/application/ports/mcp/CatalogueStore") {}
