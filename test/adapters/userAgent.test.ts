import type { IncomingHttpHeaders } from "node:http"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import * as Jwt from "../../src/adapters/auth/Jwt.ts"
import * as NodeDocuments from "../../src/adapters/dpe/NodeDocumentReader.ts"
import { makeCheckedFetch } from "../../src/adapters/http/checkedFetch.ts"
import * as McpClient from "../../src/adapters/mcp/client/McpClient.ts"
import { openModernSession } from "../../src/adapters/mcp/client/modern/openModernSession.ts"
import * as MemoryCredentialStore from "../../src/adapters/memory/MemoryCredentialStore.ts"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import { DocumentReader } from "../../src/application/ports/files/DocumentReader.ts"
import { McpConnector } from "../../src/application/ports/McpSession.ts"
import { TransportClient } from "../../src/application/ports/Transport.ts"
import { decodeEndpoint, type ServerType, StreamableParameters } from "../../src/domain/config/endpointParameters.ts"
import { packageVersion } from "../../src/domain/packageVersion.ts"
import { makeVictim } from "./http/victim.ts"

type Headers = { readonly [name: string]: string }

interface Asked {
  readonly url: string
  readonly headers: IncomingHttpHeaders
}

/** Sends requests of one kind to a web server, which answers all of them with this status. */
interface Sender {
  readonly status?: number
  readonly send: (url: string, headers: Headers) => Effect.Effect<unknown, unknown>
  /** Whether the sender takes configured headers. */
  readonly configurable: boolean
}

const connectMcp =
  (type: ServerType, layer: Layer.Layer<McpConnector>) =>
  (url: string, headers: Headers): Effect.Effect<unknown, unknown> =>
    McpConnector.use(({ connect }) => {
      const times = type === "sse" ? { timeout: 5, sse_read_timeout: 5 } : { timeout: "PT5S", sse_read_timeout: "PT5S" }
      const parameters = { url, headers, ...times, ...(type === "streamable" && { terminate_on_close: true }) }
      return connect("peer", Result.getOrThrow(decodeEndpoint(type, parameters)))
    }).pipe(Effect.provide(layer), Effect.scoped)

const withoutOAuth = Layer.provide(McpClient.layer, NodeServices.layer)
const withOAuth = Layer.provide(McpClient.layerWithOAuth({ authorize: () => Effect.never }), [
  NodeServices.layer,
  MemoryCredentialStore.layer
])

const join = (transport: "polling" | "websocket") => (url: string, headers: Headers) =>
  TransportClient.use((client) =>
    client.connect({ version: "0.2.0", auth: { role: "agent" }, onMessage: () => Effect.succeed([]) })
  ).pipe(Effect.provide(SocketIoClient.layer({ url, transports: [transport], headers })), Effect.scoped)

/** A token whose signature needs a key of the key set. */
const token = [{ alg: "ES256", kid: "one" }, { sub: "desk", exp: 9_999_999_999 }, "x"]
  .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
  .join(".")

const senders = {
  "Streamable HTTP": { send: connectMcp("streamable", withoutOAuth), configurable: true },
  "HTTP with SSE": { send: connectMcp("sse", withoutOAuth), configurable: true },
  "MCP 2026-07-28": {
    send: (url, headers) => {
      const parameters = { url, headers, timeout: "PT5S", sse_read_timeout: "PT5S", terminate_on_close: true }
      const decoded = Schema.decodeSync(StreamableParameters)(parameters)
      return Effect.scoped(openModernSession(new URL(url), decoded, (fetch) => fetch))
    },
    configurable: true
  },
  OAuth: {
    send: (url) => connectMcp("streamable", withOAuth)(url, {}),
    status: 401,
    configurable: false
  },
  "a document": {
    send: (url) =>
      DocumentReader.use(({ read }) => read(url, 1000)).pipe(
        Effect.provide(NodeDocuments.layer({ serverUrl: url, folders: [] })),
        Effect.scoped
      ),
    configurable: false
  },
  "a URL that a peer names": {
    send: (url, headers) =>
      Effect.scoped(
        Effect.flatMap(makeCheckedFetch({ checkUrl: () => undefined, allowsAddress: () => true }), (fetch) =>
          Effect.tryPromise(() => fetch(url, { method: "POST", headers, body: "x" }))
        )
      ),
    configurable: true
  },
  "a key set": {
    send: (url) =>
      Effect.flatMap(Jwt.make({ source: { _tag: "KeySet", url } }), ({ authenticate }) => authenticate(token)),
    configurable: false
  },
  "a member over polling": { send: join("polling"), configurable: true },
  "a member over WebSocket": { send: join("websocket"), configurable: true }
} satisfies { readonly [name: string]: Sender }

/** The requests that reach a web server. */
const requestsOf = ({ send, status = 403 }: Sender, headers: Headers = {}) =>
  Effect.gen(function* () {
    const asked: Array<Asked> = []
    const { url } = yield* makeVictim((request, response) => {
      asked.push({ url: request.url ?? "", headers: request.headers })
      response.writeHead(status).end()
    })
    yield* Effect.exit(send(`${url}/`, headers))
    assert.isNotEmpty(asked)
    return asked
  })

const agents = (asked: ReadonlyArray<Asked>) => [...new Set(asked.map(({ headers }) => headers["user-agent"]))]

describe("the User-Agent", () => {
  it.live.each(Object.entries(senders))("names this package and its version in the requests of %s", ([, sender]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(agents(yield* requestsOf(sender)), [`a2c-smcp/${packageVersion}`])
    })
  )

  it.live.each(
    Object.entries(senders)
      .filter(([, { configurable }]) => configurable)
      .flatMap(([name, sender]) =>
        ["User-Agent", "user-agent", "USER-AGENT"].map((header) => [name, header, sender] as const)
      )
  )("is that of the configured headers in the requests of %s: %s", ([, header, sender]) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(agents(yield* requestsOf(sender, { [header]: "acme/1" })), ["acme/1"])
    })
  )

  it.live("stands in the requests of OAuth for metadata and for the registration", () =>
    Effect.gen(function* () {
      const paths = (yield* requestsOf(senders.OAuth)).map(({ url }) => url)
      assert.includeMembers(paths, ["/", "/.well-known/oauth-protected-resource", "/register"])
    })
  )
})
