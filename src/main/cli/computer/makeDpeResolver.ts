import { Effect } from "effect"
import { makeDocumentServer } from "../../../adapters/dpe/DocumentServer.ts"
import { makeFileCache } from "../../../adapters/dpe/FileCache.ts"
import { noHomeAdvice, userCacheFolder } from "../../../adapters/process/userFolders.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { failCommand } from "../../CommandFailed.ts"

/** Makes the resolver that `--dpe` selects: `cache`, `cache:FOLDER`, `http` or `http:PORT`. */
export const makeDpeResolver = Effect.fnUntraced(function* (mode: string, publicUrl: string | undefined) {
  const [, scheme, detail] = /^(cache|http)(?::(.+))?$/s.exec(mode) ?? []
  if (scheme === "cache") {
    const folder = detail ?? userCacheFolder("documents")
    if (folder === undefined) {
      return yield* failCommand(`--dpe cache: ${noHomeAdvice("XDG_CACHE_HOME")}, or give cache:FOLDER`)
    }
    return yield* makeFileCache({ folder })
  }
  const port = Number(detail ?? 0)
  if (scheme === undefined || !Number.isInteger(port) || port < 0 || port > 65535) {
    return yield* failCommand(`--dpe: expected cache, cache:FOLDER, http or http:PORT, got ${JSON.stringify(mode)}`)
  }
  const { resolve, url } = yield* makeDocumentServer({ port, ...definedOnly({ publicUrl }) })
  yield* Effect.logInfo("document server listening", { url })
  return resolve
})
