import { constants } from "node:fs"
import { open, realpath } from "node:fs/promises"
import { isAbsolute, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { lookup } from "node:dns/promises"
import { Effect, Layer } from "effect"
import { type DocumentContent, DocumentReader } from "../../application/ports/files/DocumentReader.ts"
import { makeReader, transfer, unreadable, unsupportedScheme } from "./HttpDocumentReader.ts"
import { matchesPattern } from "../../domain/wildcard.ts"
import { type AddressKind, addressKind, mayName } from "../http/hostAccess.ts"
import { makeCheckedFetch } from "../http/checkedFetch.ts"

const maxRedirects = 5

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The kind of the Server's address; public when its name is unknown. */
const kindOfServer = async (serverUrl: string): Promise<AddressKind> => {
  const host = URL.parse(serverUrl)?.hostname ?? ""
  const address = addressKind(host) === undefined ? await lookup(host).catch(() => undefined) : { address: host }
  return addressKind(address?.address ?? "") ?? "public"
}

/**
 * Makes a fetch for documents, whose URLs Computers and their MCP servers choose. It follows redirects, and checks each
 * URL: public addresses, addresses in the network of the Server, and hosts that match a pattern are allowed. Connections
 * close with the scope.
 */
const makeDocumentFetch = Effect.fnUntraced(function* (serverUrl: string, hosts: ReadonlyArray<string>) {
  let serverKind: AddressKind = "public"
  const checkedFetch = yield* makeCheckedFetch({
    checkUrl: ({ protocol }) =>
      protocol === "http:" || protocol === "https:" ? undefined : "http or https is required",
    allowsAddress: (_, kind, { hostname }) =>
      mayName(serverKind, kind) || hosts.some((pattern) => matchesPattern(pattern, hostname))
  })
  const follow = async (url: URL, init: RequestInit, redirects: number): Promise<Response> => {
    const response = await checkedFetch(url, init)
    const target = redirectStatuses.has(response.status) ? response.headers.get("location") : null
    if (target === null) return response
    await response.body?.cancel()
    if (redirects === maxRedirects) throw new Error(`more than ${maxRedirects} redirects`)
    return follow(new URL(target, url), init, redirects + 1)
  }
  return async (url: URL, init: RequestInit): Promise<Response> => {
    serverKind = await kindOfServer(serverUrl)
    return follow(url, init, 0)
  }
})

/** The sources of an Agent's documents, whose URIs Computers choose. */
export interface DocumentSources {
  /** The URL of the Server. Documents in its network may be fetched. */
  readonly serverUrl: string
  /** Folders that may be read; none by default. */
  readonly folders?: ReadonlyArray<string> | undefined
  /** Patterns of hosts whose documents may be fetched from any network; none by default. */
  readonly hosts?: ReadonlyArray<string> | undefined
}

const isInside = (folder: string, path: string): boolean => {
  const relativePath = relative(folder, path)
  return relativePath !== "" && !relativePath.startsWith("..") && !isAbsolute(relativePath)
}

const readFile = async (url: URL, folders: ReadonlyArray<string>, maxBytes: number): Promise<DocumentContent> => {
  const path = await realpath(fileURLToPath(url))
  const allowed = await Promise.all(folders.map((folder) => realpath(folder)))
  if (!allowed.some((folder) => isInside(folder, path))) {
    throw unreadable("The document is a file outside the allowed folders of this Agent")
  }
  // Opening a FIFO must not block the reader.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const found = await file.stat()
  if (!found.isFile()) throw unreadable(`${path} is not a file`)
  if (found.size > maxBytes) throw unreadable(`${path} has ${found.size} bytes, more than the ${maxBytes} allowed`)
  const { buffer, bytesRead } = await file.read(new Uint8Array(found.size), 0, found.size, 0)
  return { bytes: buffer.subarray(0, bytesRead), mimeType: undefined }
}

/** Reads documents over HTTP, and files, from these sources only. */
export const layer = ({ folders = [], hosts = [], serverUrl }: DocumentSources): Layer.Layer<DocumentReader> =>
  Layer.effect(
    DocumentReader,
    Effect.map(makeDocumentFetch(serverUrl, hosts), (fetch) =>
      makeReader(fetch, (url, maxBytes) =>
        url.protocol === "file:"
          ? transfer("Cannot read the file", () => readFile(url, folders, maxBytes))
          : unsupportedScheme(url, maxBytes)
      )
    )
  )
