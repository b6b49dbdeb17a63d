import { constants } from "node:fs"
import { type FileHandle, open, realpath } from "node:fs/promises"
import { isAbsolute, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Layer } from "effect"
import { type DocumentContent, DocumentReader } from "../../application/ports/files/DocumentReader.ts"
import { makeDocumentFetch } from "./documentFetch.ts"
import { makeReader, transfer, unreadable, unsupportedScheme } from "./HttpDocumentReader.ts"

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

const readContent = async (file: FileHandle, path: string, maxBytes: number): Promise<Uint8Array> => {
  const found = await file.stat()
  if (!found.isFile()) throw unreadable(`${path} is not a file`)
  if (found.size > maxBytes) throw unreadable(`${path} has ${found.size} bytes, more than the ${maxBytes} allowed`)
  const bytes = new Uint8Array(found.size)
  const { bytesRead } = await file.read(bytes, 0, bytes.byteLength, 0)
  return bytes.subarray(0, bytesRead)
}

const readFile = async (url: URL, folders: ReadonlyArray<string>, maxBytes: number): Promise<DocumentContent> => {
  const path = await realpath(fileURLToPath(url))
  const allowed = await Promise.all(folders.map((folder) => realpath(folder)))
  if (!allowed.some((folder) => isInside(folder, path))) {
    throw unreadable("The document is a file outside the allowed folders of this Agent")
  }
  // Opening a FIFO must not block the reader.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { bytes: await readContent(file, path, maxBytes), mimeType: undefined }
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
