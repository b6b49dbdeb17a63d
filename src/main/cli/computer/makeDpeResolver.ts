import { homedir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { makeFileCache } from "../../../adapters/dpe/FileCache.ts"
import { makeDocumentServer } from "../../../adapters/dpe/DocumentServer.ts"
import type { ResolveDpe } from "../../../application/computer/ComputerSettings.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { type CommandFailed, failCommand, toCommandFailed } from "../CommandFailed.ts"

/** The default folder of cached documents. */
const defaultCacheFolder = () =>
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "a2c-smcp", "documents")

/** Makes the resolver that `--dpe` selects: `cache`, `cache:FOLDER`, `http` or `http:PORT`. */
export const makeDpeResolver = Effect.fnUntraced(function* (
  mode: string,
  publicUrl: string | undefined
): Effect.fn.Return<ResolveDpe, CommandFailed, Scope.Scope> {
  const [, scheme, detail] = /^(cache|http)(?::(.+))?$/s.exec(mode) ?? []
  if (scheme === "cache") {
    return yield* Effect.mapError(makeFileCache({ folder: detail ?? defaultCacheFolder() }), toCommandFailed)
  }
  const port = Number(detail ?? 0)
  if (scheme === undefined || !Number.isInteger(port) || port < 0 || port > 65535) {
    return yield* failCommand(`--dpe: expected cache, cache:FOLDER, http or http:PORT, got ${JSON.stringify(mode)}`)
  }
  const { resolve, url } = yield* Effect.mapError(
    makeDocumentServer({ port, ...definedOnly({ publicUrl }) }),
    toCommandFailed
  )
  yield* Effect.logInfo("document server listening", { url })
  return resolve
})
