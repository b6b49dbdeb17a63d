import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Result } from "effect"
import { CatalogueStore, CatalogueUnavailable } from "../../application/ports/mcp/CatalogueStore.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { digestOfKey } from "../../domain/tools/ServerCatalogue.ts"
import { readOwnerOnlyFile } from "../credentials/OwnerOnlyStore.ts"
import { replaceFile } from "../credentials/replaceFile.ts"

/** Maximum size of a file in bytes: enough for thousands of tools. */
const maxFileBytes = 8 * 1024 * 1024

/** Files of a folder. The ones that were written first are removed. */
const maxFiles = 500

const parseCatalogue = (value: unknown): Result.Result<JsonObject | undefined, string> =>
  value === undefined || isJsonObject(value) ? Result.succeed(value) : Result.fail("it is not a JSON object")

const removeOldest = async (folder: string) => {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".json"))
  if (names.length <= maxFiles) return
  const files = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      // Another process may have removed it.
      const found = await stat(path).catch(() => undefined)
      return { path, writtenAt: found?.mtimeMs ?? 0 }
    })
  )
  const oldest = files.sort((one, other) => one.writtenAt - other.writtenAt).slice(0, names.length - maxFiles)
  await Promise.all(oldest.map(({ path }) => rm(path, { force: true })))
}

/**
 * Keeps catalogues in a folder, one JSON file with access for its owner only for each. A file that others have access to,
 * or that is not JSON, is not used; the next catalogue replaces it.
 */
export const layer = (folder: string): Layer.Layer<CatalogueStore> =>
  Layer.sync(CatalogueStore, () => {
    const unavailable = (action: string, file: string, reason: string) =>
      new CatalogueUnavailable({ message: `Cannot ${action} the catalogue in ${file}: ${reason}` })
    return CatalogueStore.of({
      load: (key) => {
        const file = join(folder, `${digestOfKey(key)}.json`)
        return Effect.tryPromise({ try: () => readOwnerOnlyFile(file, maxFileBytes), catch: errorMessage }).pipe(
          Effect.flatMap((value) => Effect.fromResult(Result.flatMap(value, parseCatalogue))),
          Effect.mapError((reason) => unavailable("read", file, reason))
        )
      },
      save: (key, sealed) => {
        const file = join(folder, `${digestOfKey(key)}.json`)
        const text = `${JSON.stringify(sealed)}\n`
        if (Buffer.byteLength(text) > maxFileBytes) {
          return Effect.fail(unavailable("write", file, `it exceeds ${maxFileBytes} bytes`))
        }
        return Effect.tryPromise({
          try: async () => {
            await replaceFile(file, text)
            await removeOldest(folder)
          },
          catch: (error) => unavailable("write", file, errorMessage(error))
        })
      }
    })
  })
