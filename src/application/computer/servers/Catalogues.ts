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
  const describe = (config: string, catalogue: ServerCatalogue) => ({
    config,
    catalogue,
    text: catalogueText(catalogue)
  })
  const kept = new Map<string, ReturnType<typeof describe>>()

  const loadStored = Effect.fnUntraced(function* (server: ServerConfig) {
    const key = makeCatalogueKey(computer, server)
    const sealed = yield* store?.load(key) ?? Effect.succeed(undefined)
    if (sealed === undefined) return undefined
    const opened = openCatalogue(key, sealed)
    if (Result.isFailure(opened)) return yield* Effect.fail({ message: opened.failure })
    kept.set(server.name, describe(key.config, opened.success))
    return opened.success
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
      const described = describe(key.config, catalogue)
      const { text } = described
      const known = kept.get(server.name)
      if (known?.config === key.config && known.text === text) return
      kept.set(server.name, described)
      if (store === undefined) return
      const sealed =
        redact(text) === text ? sealCatalogue(key, catalogue) : Result.fail("it holds the value of an input")
      yield* Effect.fromResult(Result.mapError(sealed, (message) => ({ message }))).pipe(
        Effect.flatMap((value) => store.save(key, value)),
        Effect.catch(({ message: reason }) =>
          Effect.logWarning("catalogue not stored", { server: server.name, reason })
        )
      )
    })
  }
})
