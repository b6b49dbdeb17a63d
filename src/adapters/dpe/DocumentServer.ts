import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { Clock, Data, Duration, Effect, FiberSet, Result, Schedule, type Scope } from "effect"
import type { ResolveDpe } from "../../application/computer/ComputerSettings.ts"
import { isLoopbackAddress } from "../http/hostAccess.ts"
import { listen } from "../http/listen.ts"
import { type DpeDocument, expiryOf, makeResolver } from "./resolver.ts"
import { makeDocumentStore } from "./DocumentStore.ts"
import { makeUrlSigner } from "./UrlSigner.ts"

/** What an operator may set about the server of documents. */
export interface DocumentServerOptions {
  /** The address to listen on; only this machine reaches `127.0.0.1`, which it is unless set. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port?: number
  /**
   * Where Agents find this server when it is not where it listens: behind a proxy, which takes this URL's path off
   * and passes the rest on. `http` or `https`.
   */
  readonly publicUrl?: string
  /** How long a URL opens its document; 15 minutes unless set. */
  readonly lifetime?: Duration.Input
  /** How large all documents together may be, in bytes; 256 MiB unless set. */
  readonly maxBytes?: number
  /** How many documents are kept; 1000 unless set. */
  readonly maxDocuments?: number
}

/** A server of documents that runs. */
export interface DocumentServer {
  /** Answers signed `http` URIs, which this server serves. */
  readonly resolve: ResolveDpe
  /** Where Agents find the server, without a slash at the end. */
  readonly url: string
  /** What is in memory right now. */
  readonly usage: Effect.Effect<{ readonly documents: number; readonly bytes: number }>
}

/** The server cannot serve: its address or its public URL is no good. The message says which and why. */
export class DocumentServerError extends Data.TaggedError("DocumentServerFailed")<{
  readonly message: string
}> {}

/** A document is larger than all of them may be together. */
class DocumentTooLarge extends Data.TaggedError("DocumentTooLarge")<{ readonly message: string }> {}

/** How many Agents may be connected at once: more than an office has, and what they read is held in memory. */
const maxConnections = 256

/** How long a peer may take to send its request, in milliseconds: it is a few hundred bytes. */
const requestTimeouts = { headersTimeout: 10_000, requestTimeout: 10_000 }

/** A connection on which nothing moves for so long is cut, in milliseconds. */
const connectionIdleTimeout = 60_000

/** How long a connection may last. Who reads slower would keep a document in memory long after it was dropped. */
const maxConnectionAge = Duration.minutes(15)

/** How often expired documents are looked for; until then they only take room. */
const sweepInterval = Duration.minutes(1)

/** Signed URLs need little room; a stranger gets no more. */
const maxHeaderSize = 8 * 1024

/** The public URL without its last slash. Never repeats the URL: it might hold a password. */
const parsePublicUrl = (text: string): Result.Result<string, DocumentServerError> => {
  const reject = (reason: string) =>
    Result.fail(new DocumentServerError({ message: `The public URL of the document server ${reason}` }))
  const url = URL.parse(text)
  if (url === null) return reject("is no URL")
  const { hash, origin, password, pathname, protocol, search, username } = url
  if (protocol !== "http:" && protocol !== "https:") return reject("must begin with http:// or https://")
  if (username !== "" || password !== "") return reject("must not hold a user or a password")
  if (search !== "" || hash !== "") return reject("must not have a query or fragment")
  return Result.succeed(`${origin}${pathname.replace(/\/+$/, "")}`)
}

/** Where Agents find a server that listens there. */
const serverUrlOf = Effect.fnUntraced(function* (
  { address, family, port }: AddressInfo,
  publicUrl: string | undefined
) {
  if (publicUrl === undefined && (address === "0.0.0.0" || address === "::")) {
    return yield* new DocumentServerError({
      message: `Documents served on every address (${address}) need a public URL that Agents can use`
    })
  }
  if (!isLoopbackAddress(address) && publicUrl?.startsWith("https:") !== true) {
    yield* Effect.logWarning("documents leave this machine without encryption", { address })
  }
  return publicUrl ?? `http://${family === "IPv6" ? `[${address}]` : address}:${port}`
})

const contentTypeOf = ({ isText, mimeType }: DpeDocument): string =>
  isText && /^text\//i.test(mimeType) ? `${mimeType}; charset=utf-8` : mimeType

const headersOf = (document: DpeDocument | undefined) => ({
  ...(document !== undefined && {
    "Content-Type": contentTypeOf(document),
    "Content-Disposition": "attachment"
  }),
  "Content-Length": document?.bytes.byteLength ?? 0,
  "Cache-Control": "private, no-store",
  // one document, one connection: none is ever idle, and what else a peer sends is not read
  Connection: "close",
  "X-Content-Type-Options": "nosniff"
})

const sendDocument = (response: ServerResponse, status: number, document?: DpeDocument): void => {
  response.writeHead(status, headersOf(document))
  // Node leaves the body of an answer to HEAD out by itself
  response.end(document?.bytes)
}

/** Cuts a connection whose time is up; waits until it is closed. */
const limitConnectionAge = (socket: Socket) =>
  Effect.callback<void>((resume) => {
    if (socket.destroyed) resume(Effect.void)
    else socket.once("close", () => resume(Effect.void))
  }).pipe(
    Effect.timeoutOrElse({
      duration: maxConnectionAge,
      orElse: () => Effect.sync(() => void socket.destroy())
    })
  )

/**
 * Starts a small HTTP server in memory that serves documents at signed URLs until they expire, and gives the resolver
 * that answers these URLs. Whoever has a URL can fetch its document, nobody else anything: everything that is not
 * right is 404; a URL of ours whose time is up, or whose document made way for newer ones, is 410: its Agent asks
 * again. Everything ends with the scope, at once.
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
  const store = makeDocumentStore(maxDocuments, maxBytes)
  const signer = makeUrlSigner()
  const run = yield* FiberSet.makeRuntime<never>()

  const respond = Effect.fnUntraced(function* (
    { method, url = "" }: IncomingMessage,
    response: ServerResponse
  ) {
    const signedUrl = method === "GET" || method === "HEAD" ? signer.verify(url) : undefined
    if (signedUrl === undefined) return sendDocument(response, 404)
    const expired = signedUrl.expiresAt <= (yield* Clock.currentTimeMillis)
    const document = expired ? undefined : store.get(signedUrl.id)
    sendDocument(response, document === undefined ? 410 : 200, document)
  })

  const http = createServer({ ...requestTimeouts, maxHeaderSize })
  http.timeout = connectionIdleTimeout
  http.maxConnections = maxConnections
  http.on("connection", (socket) => run(limitConnectionAge(socket)))
  http.on("request", (request, response) =>
    run(
      Effect.catchCause(respond(request, response), (cause) =>
        Effect.andThen(
          Effect.logError("a document could not be served", cause),
          Effect.sync(() => void response.destroy())
        )
      )
    )
  )

  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => {
      http.close(() => resume(Effect.void))
      http.closeAllConnections()
    })
  )
  const address = yield* listen(
    http,
    { host, port },
    (reason) => new DocumentServerError({ message: `Cannot serve documents on ${host}:${port}: ${reason}` })
  )
  const url = yield* serverUrlOf(address, proxied)
  http.on("error", (error) => run(Effect.logWarning("the document server cannot take a connection", error)))

  const removeExpired = Effect.map(Clock.currentTimeMillis, (now) => store.removeExpired(now))
  yield* Effect.forkScoped(Effect.repeat(removeExpired, Schedule.spaced(sweepInterval)))

  const storeDocument = Effect.fnUntraced(function* (document: DpeDocument) {
    const size = document.bytes.byteLength
    if (size > maxBytes) {
      return yield* new DocumentTooLarge({
        message: `The document has ${size} bytes, its server takes ${maxBytes}`
      })
    }
    yield* removeExpired
    const expiresAt = expiryOf(yield* Clock.currentTimeMillis, lifetime)
    const id = signer.documentIdOf(document)
    store.put(id, document, expiresAt)
    return { uri: `${url}${signer.sign({ id, expiresAt })}`, expiresAt }
  })

  return {
    resolve: makeResolver("DocumentServer.resolve", storeDocument),
    url,
    usage: Effect.sync(store.usage)
  }
})
