import { Effect, Layer } from "effect"
import {
  type DocumentContent,
  DocumentReader,
  DocumentUnreadable
} from "../../application/ports/files/DocumentReader.ts"
import { errorMessage } from "../../domain/errorMessage.ts"

type FetchUrl = (url: URL, init: RequestInit) => Promise<Response>
type ReadUrl = (url: URL, maxBytes: number) => Effect.Effect<DocumentContent, DocumentUnreadable>

export const unreadable = (message: string) => new DocumentUnreadable({ message })

/** Runs a transfer; other errors than {@link DocumentUnreadable} fail with a prefix and their cause or message. */
export const transfer = (failing: string, run: (signal: AbortSignal) => Promise<DocumentContent>) =>
  Effect.tryPromise({
    try: run,
    catch: (error) => {
      if (error instanceof DocumentUnreadable) return error
      // The message of a fetch error is generic; its cause has the reason.
      return unreadable(`${failing}: ${errorMessage(error instanceof Error ? (error.cause ?? error) : error)}`)
    }
  })

const readBody = async ({ body }: Response, origin: string, maxBytes: number): Promise<Uint8Array> => {
  const chunks: Array<Uint8Array<ArrayBuffer>> = []
  let size = 0
  const write = (chunk: Uint8Array<ArrayBuffer>) => {
    size += chunk.byteLength
    if (size > maxBytes) throw unreadable(`The document at ${origin} exceeds the ${maxBytes} bytes allowed`)
    chunks.push(chunk)
  }
  // Not every browser can iterate streams.
  await body?.pipeTo(new WritableStream({ write }))
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

const fetchDocument = (fetch: FetchUrl, url: URL, maxBytes: number) =>
  transfer(`Cannot fetch from ${url.origin}`, async (signal) => {
    // Cookies of the reader must not be sent to the document server.
    const response = await fetch(url, { signal, credentials: "omit" })
    if (!response.ok) {
      await response.body?.cancel()
      throw unreadable(`${url.origin} answered with HTTP ${response.status}`)
    }
    const bytes = await readBody(response, url.origin, maxBytes)
    return { bytes, mimeType: response.headers.get("content-type") ?? undefined }
  })

export const unsupportedScheme: ReadUrl = ({ protocol }) =>
  Effect.fail(unreadable(`This reader does not support ${protocol} URIs`))

/** Makes a reader that gets documents over HTTP with `fetch`, and documents of other schemes with `readOther`. */
export const makeReader = (fetch: FetchUrl, readOther: ReadUrl): DocumentReader["Service"] => ({
  read: (uri, maxBytes) =>
    Effect.flatMap(
      Effect.try({
        try: () => new URL(uri),
        catch: () => unreadable("The Computer returned an invalid document URI")
      }),
      (url) => (/^https?:$/.test(url.protocol) ? fetchDocument(fetch, url, maxBytes) : readOther(url, maxBytes))
    )
})

/**
 * Reads documents over HTTP in browsers. The document server must allow the origin (CORS), and the browser protects the
 * network of its user.
 */
export const layer: Layer.Layer<DocumentReader> = Layer.sync(DocumentReader, () => makeReader(fetch, unsupportedScheme))
