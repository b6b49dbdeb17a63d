import { Effect, Option, Result } from "effect"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import {
  catalogueText,
  makeCatalogueKey,
  openCatalogue,
  sealCatalogue,
  type ServerCatalogue
} from "../../../domain/tools/ServerCatalogue.ts"
import { CatalogueStore } from "../../ports/mcp/CatalogueStore.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/** The last catalogue of each lazy server. */
export type Catalogues = Effect.Success<ReturnType<typeof makeCatalogues>>

/** Keeps catalogues as long as the Computer, and longer where the context has a `CatalogueStore`. */
export const makeCatalogues = Effect.fnUntraced(function* (computer: ComputerName, { redact }: Secrets) {
  const store = Option.getOrUndefined(yield* Effect.serviceOption(CatalogueStore))
  const kept = new Map<
    string,
    { readonly config: string; readonly catalogue: ServerCatalogue; readonly text: string }
  >()

  const keep = (server: string, config: string, catalogue: ServerCatalogue) => {
    kept.set(server, { config, catalogue, text: catalogueText(catalogue) })
    return catalogue
  }

  const loadStored = Effect.fnUntraced(function* (server: ServerConfig) {
    const key = makeCatalogueKey(computer, server)
    const sealed = yield* store?.load(key) ?? Effect.succeed(undefined)
    if (sealed === undefined) return undefined
    const opened = openCatalogue(key, sealed)
    if (Result.isFailure(opened)) return yield* Effect.fail({ message: opened.failure })
    return keep(server.name, key.config, opened.success)
  })

  return {
    /** The catalogue of a server in this configuration; one that does not verify is ignored. */
    load: (server: ServerConfig): Effect.Effect<ServerCatalogue | undefined> =>
      Effect.suspend(() => {
        const known = kept.get(server.name)
        if (known?.config === makeCatalogueKey(computer, server).config) return Effect.succeed(known.catalogue)
        return Effect.catch(loadStored(server), ({ message: reason }) =>
          Effect.as(Effect.logWarning("stored catalogue ignored", { server: server.name, reason }), undefined)
        )
      }),
    /** Keeps a catalogue that differs from the last one. */
    save: Effect.fnUntraced(function* (server: ServerConfig, catalogue: ServerCatalogue): Effect.fn.Return<void> {
      const key = makeCatalogueKey(computer, server)
      const text = catalogueText(catalogue)
      const known = kept.get(server.name)
      if (known?.config === key.config && known.text === text) return
      keep(server.name, key.config, catalogue)
      if (store === undefined) return
      const sealed =
        redact(text) === text ? sealCatalogue(key, catalogue) : Result.fail("it holds the value of an input")
      yield* Effect.catch(
        Effect.flatMap(
          Effect.mapError(Effect.fromResult(sealed), (message) => ({ message })),
          (value) => store.save(key, value)
        ),
        ({ message: reason }) => Effect.logWarning("catalogue not stored", { server: server.name, reason })
      )
    })
  }
})
