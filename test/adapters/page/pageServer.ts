import { request, type IncomingMessage } from "node:http"
import { request as secureRequest } from "node:https"
import { fileURLToPath } from "node:url"
import { type Cause, Effect, Layer, Metric, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { listen, listeningUrl } from "../../../src/adapters/http/httpServer.ts"
import { makeTlsServer } from "../../../src/adapters/http/tlsServer.ts"
import { makeOfficePage, type OfficePageOptions } from "../../../src/adapters/page/OfficePage.ts"
import { admissionRejected, allowAll, Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { ListenError } from "../../../src/application/ports/Transport.ts"
import { type ObservedEvent, MembershipObservers } from "../../../src/application/server/observability/observers.ts"
import type { Grants, Identity } from "../../../src/domain/model/Identity.ts"
import { unavailable } from "../../../src/domain/model/ProtocolError.ts"
import type { PageSession } from "../../../src/domain/page/PageCommand.ts"
import type { PageSnapshot } from "../../../src/domain/page/PageEvent.ts"
import type { PageSource } from "../../../src/application/shared/page/PageSource.ts"
import type { PageStream } from "../../../src/application/shared/page/openPageStream.ts"
import { type TestBody, effectWith, liveWith } from "../../testWith.ts"

/** A folder as the build writes it, with one other file. */
export const assets = fileURLToPath(new URL("../../fixtures/page", import.meta.url))

export const operatorKey = "key-of-an-operator"
/** Its sessions end after a minute. */
export const shortKey = "key-of-a-minute"
export const agentKey = "key-of-an-agent"
export const watcherKey = "key-of-an-operator-who-cannot-call"

const identityOf = (subject: string, rights: Grants["rights"], expiresAt?: number): Identity => ({
  subject,
  grants: { rights, offices: ["team*"], names: ["*"] },
  expiresAt
})

/** Knows the four keys. */
export const keys: Authenticator["Service"] = {
  ...allowAll,
  requiresCredentials: true,
  authenticate: ({ auth }) => {
    const { token } = auth as { readonly token?: string }
    if (token === operatorKey) return Effect.succeed(identityOf("olga", ["operator", "agent"]))
    if (token === shortKey) return Effect.succeed(identityOf("tim", ["operator"], Date.now() + 60_000))
    if (token === agentKey) return Effect.succeed(identityOf("alan", ["agent"]))
    if (token === watcherKey) return Effect.succeed(identityOf("wanda", ["operator"]))
    return Effect.fail(admissionRejected("invalid_credentials", "no such key"))
  }
}

export const snapshot: PageSnapshot = {
  stream: "s-1",
  at: 0,
  events: [],
  omittedMembers: 0,
  omittedCalls: 0,
  droppedEvents: 0
}

/** A stream with a snapshot and these batches, and no end unless `next` gives one. */
export const streamOf = (next: PageStream["next"] = Effect.never): PageStream => ({ snapshot, next })

const noWatch: PageSource = {
  hasBodies: false,
  open: Effect.succeed(streamOf()),
  execute: () => Effect.fail(unavailable("not in this test")),
  call: () => Effect.fail(unavailable("not in this test"))
}

interface Given extends Partial<OfficePageOptions> {
  readonly authenticator?: Authenticator["Service"]
  readonly watch?: Partial<PageSource>
  /** Receives the rejections. */
  readonly observe?: (event: ObservedEvent) => void
}

/** Serves the page on a free port. Other requests get 418. */
export const servePage = Effect.fnUntraced(function* ({
  authenticator = allowAll,
  observe = () => undefined,
  watch = {},
  ...options
}: Given = {}) {
  const page = yield* makeOfficePage({ assets, allowedHosts: [], source: { ...noWatch, ...watch }, ...options }).pipe(
    Effect.provideService(Authenticator, authenticator),
    Effect.provideService(MembershipObservers, [observe])
  )
  const http = yield* makeTlsServer(undefined)
  http.on("request", (incoming, response) => {
    if (!page(incoming, response)) response.writeHead(418).end()
  })
  // Streams that a test left open do not delay its end.
  yield* Effect.addFinalizer(() => Effect.sync(() => http.closeAllConnections()))
  const address = yield* listen(http, { host: "127.0.0.1", port: 0 }, (message) => new ListenError({ message }))
  return listeningUrl("http", address)
})

type PageTest = TestBody<string>

/** A test of a page, with real time. */
export const live = (title: string, given: Given, body: PageTest) => liveWith(servePage(given))(title, body)

/** A test of a page, with a test clock. */
export const effect = (title: string, given: Given, body: PageTest) => effectWith(servePage(given))(title, body)

/** Metrics of one Server only. */
export const ownMetrics = Layer.succeed(Metric.MetricRegistry, new Map())

export interface Sent {
  readonly method?: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
}

interface Received {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly text: string
}

/** Starts a request, with any `Host` header, which `fetch` does not allow. It ends with the scope. */
export const openResponse = Effect.fnUntraced(function* (
  url: string,
  path: string,
  { body = "", headers = {}, method = "GET" }: Sent = {}
) {
  const sending = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const options = { path, headers, method, agent: false } as const
      return url.startsWith("https:")
        ? secureRequest(new URL(url), { ...options, rejectUnauthorized: false })
        : request(new URL(url), options)
    }),
    (opened) => Effect.sync(() => void opened.destroy())
  )
  const response = yield* Effect.callback<IncomingMessage, Error>((resume) => {
    sending.on("response", (received) => {
      // A response that ends in part is a fact of some tests.
      received.on("error", () => undefined)
      resume(Effect.succeed(received))
    })
    sending.on("error", (error) => resume(Effect.fail(error)))
    sending.end(body)
  })
  return { response, close: Effect.sync(() => void sending.destroy()) }
})

const textOf = (response: IncomingMessage) =>
  Effect.callback<string>((resume) => {
    let text = ""
    response.setEncoding("latin1")
    response.on("data", (chunk: string) => (text += chunk))
    response.on("close", () => resume(Effect.succeed(text)))
  })

/** Sends a request and reads the whole response. */
export const send = (url: string, path: string, sent: Sent = {}): Effect.Effect<Received, Error> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { response } = yield* openResponse(url, path, sent)
      return { status: response.statusCode ?? 0, headers: response.headers, text: yield* textOf(response) }
    })
  )

/** Sends a request and gives the status. */
export const statusOf = (url: string, path: string, sent: Sent = {}): Effect.Effect<number, Error> =>
  Effect.map(send(url, path, sent), ({ status }) => status)

/** Opens a stream of lines; `next` fails with `Done` when the response has ended. */
export const openLines = Effect.fnUntraced(function* (url: string, path: string, sent: Sent = {}) {
  const { close, response } = yield* openResponse(url, path, sent)
  const lines = yield* Queue.unbounded<string, Cause.Done>()
  let rest = ""
  response.setEncoding("utf8")
  response.on("data", (chunk: string) => {
    const parts = (rest + chunk).split("\n")
    rest = parts.pop() ?? ""
    for (const line of parts) Queue.offerUnsafe(lines, line)
  })
  response.on("close", () => Queue.endUnsafe(lines))
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next: Queue.take(lines),
    /** Completes when the response has ended; true when it is complete. */
    ended: Effect.map(Stream.runDrain(Stream.fromQueue(lines)), () => response.complete),
    close
  }
})

const json = { "content-type": "application/json" }

/** A request that is not GET, with the headers that the page sends. */
export const post = (body: unknown, headers: Sent["headers"] = {}, method = "POST"): Sent => ({
  method,
  headers: { ...json, "x-a2c-csrf": "sign-in", ...headers },
  body: JSON.stringify(body)
})

export const signInWith = (token: string, headers: Sent["headers"] = {}): Sent => post({ token }, headers)

export const cookieOf = ({ headers }: Received): string => (headers["set-cookie"]?.[0] ?? "").split(";")[0] ?? ""

/** Signs in, or fetches a session where no key is needed. Gives the headers of its requests. */
export const startSession = Effect.fnUntraced(function* (url: string, token?: string) {
  const reply = yield* send(url, "/office/api/session", token === undefined ? {} : signInWith(token))
  const session = JSON.parse(reply.text) as PageSession
  const cookie = cookieOf(reply)
  return { session, cookie, headers: { cookie, "x-a2c-csrf": session.csrf } }
})

const eventLoopTick = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** Lets the time of the test pass until an effect has completed. */
export const passTimeUntil = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.raceFirst(effect, Effect.forever(Effect.andThen(TestClock.adjust("1 second"), eventLoopTick)))
