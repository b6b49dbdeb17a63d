import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { createHmac, randomBytes } from "node:crypto"
import { Clock, Data, Duration, Effect, FiberSet, Result, Schedule, type Scope } from "effect"
import type { ResolveDpe } from "../../application/computer/ComputerSettings.ts"
import { makeKeptValues } from "../../domain/blobs/keptValues.ts"
import { isLoopbackHost } from "../http/hostAccess.ts"
import { cannot, listen, listeningUrl, makeHttpServer } from "../http/httpServer.ts"
import { type DpeDocument, expiryOf, makeResolver } from "./resolver.ts"
import { isSameSecret } from "../auth/secrets.ts"

/** A document in memory; `expiresAt` in milliseconds since 1970. */
type KeptDocument = DpeDocument & { readonly expiresAt: number }

/** Strict, so each document has one URL: 43 characters are 256 bits in base64url. */
const signedUrlPattern = /^\/dpe\/([\w-]{43})\?expires=(\d{1,16})&signature=([\w-]{43})$/

/** Makes a signer with a random key. Its ids do not reveal the documents. Times are in milliseconds since 1970. */
const makeUrlSigner = () => {
  // As long as the hash: a longer key would not be stronger.
  const key = randomBytes(32)
  const hmacOf = (text: string, bytes: Uint8Array = new Uint8Array()): string =>
    createHmac("sha256", key).update(text).update(bytes).digest("base64url")
  const signatureOf = (id: string, expires: string): string => hmacOf(`url\n${id}\n${expires}`)

  return {
    documentIdOf: ({ bytes, mimeType, uri }: DpeDocument): string =>
      hmacOf(`document\n${JSON.stringify([uri, mimeType])}\n`, bytes),
    sign: (id: string, expiresAt: number): string =>
      `/dpe/${id}?expires=${expiresAt}&signature=${signatureOf(id, String(expiresAt))}`,
    /** Parses a signed URL, expired or not; `undefined` for others. */
    verify: (target: string) => {
      const [, id, expires, signature] = signedUrlPattern.exec(target) ?? []
      if (id === undefined || expires === undefined || signature === undefined) return undefined
      // base64 text, because several texts decode to the same bytes
      return isSameSecret(signatureOf(id, expires), signature) ? { id, expiresAt: Number(expires) } : undefined
    }
  }
}

export interface DocumentServerOptions {
  /** The address to listen on; `127.0.0.1` by default. */
  readonly host?: string
  /** 0, the default, picks a free port. */
  readonly port?: number
  /** The base URL for Agents, when a proxy forwards to this server and strips the path. */
  readonly publicUrl?: string
  /** How long a URL is valid; 15 minutes by default. */
  readonly lifetime?: Duration.Input
  /** Total size of all documents in bytes; 256 MiB by default. */
  readonly maxBytes?: number
  /** Maximum number of documents; 1000 by default. */
  readonly maxDocuments?: number
}

export interface DocumentServer {
  readonly resolve: ResolveDpe
  /** The base URL for Agents, without a trailing slash. */
  readonly url: string
  readonly usage: Effect.Effect<{ readonly documents: number; readonly bytes: number }>
}

export class DocumentServerError extends Data.TaggedError("DocumentServerError")<{ readonly message: string }> {}

/** Timeouts in milliseconds. */
const httpOptions = {
  headersTimeout: 10_000,
  requestTimeout: 10_000,
  idleTimeout: 60_000,
  /** More than the Agents of an office. Each connection holds a document in memory. */
  maxConnections: 256,
  /** Signed URLs are short. */
  maxHeaderSize: 8 * 1024
}

/** A slow reader would keep a document in memory long after its removal. */
const maxConnectionAge = Duration.minutes(15)

const sweepInterval = Duration.minutes(1)

/** Parses the public URL. Errors do not quote it, because it may contain a password. */
const parsePublicUrl = (text: string): Result.Result<string, DocumentServerError> => {
  const reject = (reason: string) =>
    Result.fail(new DocumentServerError({ message: `The public URL of the document server ${reason}` }))
  const url = URL.parse(text)
  if (url === null) return reject("is not a URL")
  const { hash, origin, password, pathname, protocol, search, username } = url
  if (protocol !== "http:" && protocol !== "https:") return reject("must start with http:// or https://")
  if (username !== "" || password !== "") return reject("must not contain credentials")
  if (search !== "" || hash !== "") return reject("must not contain a query or fragment")
  return Result.succeed(`${origin}${pathname.replace(/\/+$/, "")}`)
}

const serverUrlOf = Effect.fnUntraced(function* (bound: AddressInfo, publicUrl: string | undefined) {
  const { address } = bound
  if (publicUrl === undefined && (address === "0.0.0.0" || address === "::")) {
    return yield* new DocumentServerError({
      message: `A document server on all addresses (${address}) requires a public URL that Agents can reach`
    })
  }
  if (!isLoopbackHost(address) && publicUrl?.startsWith("https:") !== true) {
    yield* Effect.logWarning("documents are served unencrypted to other machines", { address })
  }
  return publicUrl ?? listeningUrl("http", bound)
})

const contentTypeOf = ({ isText, mimeType }: DpeDocument): string =>
  isText && /^text\//i.test(mimeType) ? `${mimeType}; charset=utf-8` : mimeType

const sendDocument = (response: ServerResponse, status: number, document?: DpeDocument): void => {
  response.writeHead(status, {
    ...(document !== undefined && { "Content-Type": contentTypeOf(document), "Content-Disposition": "attachment" }),
    "Content-Length": document?.bytes.byteLength ?? 0,
    "Cache-Control": "private, no-store",
    // each connection serves one document: none is idle, and pipelined requests are not read
    Connection: "close",
    "X-Content-Type-Options": "nosniff"
  })
  // Node omits the body for HEAD
  response.end(document?.bytes)
}

/**
 * Starts an HTTP server that serves documents from memory at signed URLs, and returns their resolver. The URL is the
 * only credential. An invalid URL gives 404. An expired URL or an evicted document gives 410, and the Agent resolves it
 * again. Closing the scope ends everything at once.
 */
export const makeDocumentServer = Effect.fn("DocumentServer.make")(function* ({
  host = "127.0.0.1",
  lifetime = Duration.minutes(15),
  maxBytes = 256 * 1024 ** 2,
  maxDocuments = 1000,
  port = 0,
  publicUrl
}: DocumentServerOptions = {}): Effect.fn.Return<DocumentServer, DocumentServerError, Scope.Scope> {
  const proxied = publicUrl === undefined ? undefined : yield* Effect.fromResult(parsePublicUrl(publicUrl))
  const store = makeKeptValues<KeptDocument>(({ bytes }) => bytes.byteLength, maxBytes, maxDocuments)
  const signer = makeUrlSigner()
  const run = yield* FiberSet.makeRuntime<never>()

  const respond = Effect.fnUntraced(function* ({ method, url = "" }: IncomingMessage, response: ServerResponse) {
    const signedUrl = method === "GET" || method === "HEAD" ? signer.verify(url) : undefined
    if (signedUrl === undefined) return sendDocument(response, 404)
    const expired = signedUrl.expiresAt <= (yield* Clock.currentTimeMillis)
    const document = expired ? undefined : store.get(signedUrl.id)
    sendDocument(response, document === undefined ? 410 : 200, document)
  })

  const http = yield* makeHttpServer(httpOptions)
  http.on("connection", (socket) => {
    const limit = run(Effect.map(Effect.sleep(maxConnectionAge), () => void socket.destroy()))
    socket.once("close", () => limit.interruptUnsafe())
  })
  http.on("request", (request, response) =>
    run(
      Effect.catchCause(respond(request, response), (cause) =>
        Effect.map(Effect.logError("document request failed", cause), () => void response.destroy())
      )
    )
  )

  const address = yield* listen(http, { host, port }, cannot("serve documents", DocumentServerError))
  const url = yield* serverUrlOf(address, proxied)

  const removeExpired = Effect.map(Clock.currentTimeMillis, (now) =>
    store.removeIf(({ expiresAt }) => expiresAt <= now)
  )
  yield* Effect.forkScoped(Effect.repeat(removeExpired, Schedule.spaced(sweepInterval)))

  const storeDocument = Effect.fnUntraced(function* (document: DpeDocument) {
    yield* removeExpired
    const expiresAt = expiryOf(yield* Clock.currentTimeMillis, lifetime)
    const id = signer.documentIdOf(document)
    store.put(id, { ...document, expiresAt })
    return { uri: `${url}${signer.sign(id, expiresAt)}`, expiresAt }
  })

  return {
    resolve: makeResolver("DocumentServer.resolve", maxBytes, storeDocument),
    url,
    usage: Effect.map(Effect.sync(store.usage), ({ count: documents, size: bytes }) => ({ documents, bytes }))
  }
})
