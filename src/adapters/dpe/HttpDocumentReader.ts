import { Effect, Layer } from "effect"
import { type DocumentContent, DocumentReader, DocumentUnreadable } from "../../application/ports/DocumentReader.ts"
import { errorMessage } from "../../domain/errorMessage.ts"

const tooLarge = (where: string, maxBytes: number) =>
  new DocumentUnreadable({ message: `The document at ${where} exceeds the ${maxBytes} bytes allowed` })

/** Reads a body; undefined when it exceeds the limit. */
const readBody = async (
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  maxBytes: number
): Promise<Uint8Array | undefined> => {
  const reader = body.getReader() // not every browser can iterate streams
  const chunks: Array<Uint8Array<ArrayBuffer>> = []
  let size = 0
  while (true) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > maxBytes) {
      await reader.cancel()
      return undefined
    }
    chunks.push(value)
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

const download = async (url: URL, maxBytes: number, signal: AbortSignal): Promise<DocumentContent> => {
  // Cookies of the reader must not be sent to the document server.
  const response = await fetch(url, { signal, credentials: "omit" })
  if (!response.ok) {
    await response.body?.cancel()
    throw new DocumentUnreadable({ message: `${url.origin} answered with HTTP ${response.status}` })
  }
  const bytes = response.body === null ? new Uint8Array() : await readBody(response.body, maxBytes)
  if (bytes === undefined) throw tooLarge(url.origin, maxBytes)
  return { bytes, mimeType: response.headers.get("content-type") ?? undefined }
}

/** The message of a fetch error is generic; its cause has the reason. */
const fetchErrorReason = (error: unknown): string =>
  errorMessage(error instanceof Error ? (error.cause ?? error) : error)

export const fetchHttpDocument = (url: URL, maxBytes: number): Effect.Effect<DocumentContent, DocumentUnreadable> =>
  Effect.tryPromise({
    try: (signal) => download(url, maxBytes, signal),
    catch: (error) =>
      error instanceof DocumentUnreadable
        ? error
        : new DocumentUnreadable({ message: `Cannot fetch from ${url.origin}: ${fetchErrorReason(error)}` })
  })

export const parseDocumentUri = (uri: string): Effect.Effect<URL, DocumentUnreadable> =>
  Effect.try({
    try: () => new URL(uri),
    catch: () => new DocumentUnreadable({ message: "The Computer returned an invalid document URI" })
  })

export const unsupportedScheme = ({ protocol }: URL): Effect.Effect<never, DocumentUnreadable> =>
  Effect.fail(new DocumentUnreadable({ message: `This reader does not support ${protocol} URIs` }))

export const isHttpUrl = ({ protocol }: URL): boolean => protocol === "http:" || protocol === "https:"

/** Reads documents over HTTP, also in browsers, where the document server must allow the origin (CORS). */
export const layer: Layer.Layer<DocumentReader> = Layer.succeed(
  DocumentReader,
  DocumentReader.of({
    read: (uri, maxBytes) =>
      Effect.flatMap(parseDocumentUri(uri), (url) =>
        isHttpUrl(url) ? fetchHttpDocument(url, maxBytes) : unsupportedScheme(url)
      )
  })
)
