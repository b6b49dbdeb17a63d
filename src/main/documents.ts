import { homedir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { makeFileCache } from "../adapters/dpe/FileCache.ts"
import { makeDocumentServer } from "../adapters/dpe/HttpServer.ts"
import type { ResolveDpe } from "../application/computer/ComputerSettings.ts"
import { CommandFailed, failed } from "./failure.ts"

/** Where documents go when nobody says where. */
const usualFolder = () =>
  join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "a2c-smcp", "documents")

/** How documents become URIs: `cache`, `cache:FOLDER`, `http` or `http:PORT`. */
export const documentResolver = Effect.fnUntraced(function* (
  how: string,
  publicUrl: string | undefined
): Effect.fn.Return<ResolveDpe, CommandFailed, Scope.Scope> {
  const [, kind, detail] = /^(cache|http)(?::(.+))?$/s.exec(how) ?? []
  if (kind === "cache") {
    return yield* Effect.mapError(makeFileCache({ folder: detail ?? usualFolder() }), failed)
  }
  const port = Number(detail ?? 0)
  if (kind === undefined || !Number.isInteger(port) || port < 0 || port > 65535) {
    return yield* new CommandFailed({
      message: `--dpe: expected cache, cache:FOLDER, http or http:PORT, got ${JSON.stringify(how)}`
    })
  }
  const { resolve, url } = yield* Effect.mapError(
    makeDocumentServer({ port, ...(publicUrl !== undefined && { publicUrl }) }),
    failed
  )
  yield* Effect.logInfo("documents are served", { url })
  return resolve
})
