import { Effect, Layer } from "effect"
import { CatalogueStore } from "../../../src/application/ports/mcp/CatalogueStore.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { digestOfKey } from "../../../src/domain/tools/ServerCatalogue.ts"

/** Keeps catalogues until the process ends. */
export const layer: Layer.Layer<CatalogueStore> = Layer.sync(CatalogueStore, () => {
  const kept = new Map<string, JsonObject>()
  return CatalogueStore.of({
    load: (key) => Effect.sync(() => kept.get(digestOfKey(key))),
    save: (key, sealed) => Effect.sync(() => void kept.set(digestOfKey(key), sealed))
  })
})
