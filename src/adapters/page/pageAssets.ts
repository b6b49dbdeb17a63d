import { readdir, readFile } from "node:fs/promises"
import type { IncomingMessage } from "node:http"
import { extname, join } from "node:path"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { Duration, Effect, Exit } from "effect"
import { notFound, type ProtocolError, unavailable } from "../../domain/model/ProtocolError.ts"
import { formatNetworkError } from "../bytes/networkErrors.ts"
import type { HttpReply } from "../http/messages.ts"

const indexName = "index.html"

/** Other files of the folder are not served. */
const assetName = /^[\w-]+\.[\w-]{6,}\.(?:js|css)$/

/** The subtypes of `text`. */
const contentTypes: { readonly [extension: string]: string } = { ".html": "html", ".js": "javascript", ".css": "css" }

/** The name of an asset changes with its content. */
const immutable = { "Cache-Control": "public, max-age=31536000, immutable" }

const readAsset = async (folder: string, name: string) => {
  const bytes = await readFile(join(folder, name))
  const headers = {
    "Content-Type": `text/${contentTypes[extname(name)]}; charset=utf-8`,
    Vary: "Accept-Encoding",
    ...(name !== indexName && immutable)
  }
  return [name, { headers, bytes, gzipped: await promisify(gzip)(bytes) }] as const
}

/** The files of the built page by name. */
const readAssets = async (folder: string) => {
  const names = (await readdir(folder)).filter((name) => assetName.test(name))
  return new Map(await Promise.all([indexName, ...names].map((name) => readAsset(folder, name))))
}

const acceptsGzip = ({ headers }: IncomingMessage): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(headers["accept-encoding"] ?? ""))

/**
 * Serves the files of a folder, which is read once: at the first request that finds it. No name of a request reaches the
 * file system.
 */
export const makePageAssets = Effect.fnUntraced(function* (folder: string) {
  const read = Effect.tryPromise({ try: () => readAssets(folder), catch: formatNetworkError }).pipe(
    Effect.tapError((reason) => Effect.logWarning("office page not found", { folder, reason })),
    Effect.mapError(() => unavailable("The office page is not built: run npm run build"))
  )
  const load = yield* Effect.cachedWithTTL(read, (exit) => (Exit.isSuccess(exit) ? Duration.infinity : Duration.zero))
  /** Makes the handler of requests for a file; for the index without a name. */
  return (name: string) =>
    Effect.fnUntraced(function* (request: IncomingMessage): Effect.fn.Return<HttpReply, ProtocolError> {
      const asset = (yield* load).get(name || indexName)
      if (asset === undefined) return yield* notFound("Not found")
      const { bytes, gzipped, headers } = asset
      return acceptsGzip(request)
        ? { status: 200, headers: { ...headers, "Content-Encoding": "gzip" }, body: gzipped }
        : { status: 200, headers, body: bytes }
    })
})
