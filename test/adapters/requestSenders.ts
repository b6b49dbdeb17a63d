import { NodeServices } from "@effect/platform-node"
import { Effect, Layer, Result, Schema } from "effect"
import * as Jwt from "../../src/adapters/auth/Jwt.ts"
import * as NodeDocuments from "../../src/adapters/dpe/NodeDocumentReader.ts"
import { makeCheckedFetch } from "../../src/adapters/http/checkedFetch.ts"
import * as McpClient from "../../src/adapters/mcp/client/McpClient.ts"
import { openModernSession } from "../../src/adapters/mcp/client/modern/openModernSession.ts"
import * as MemoryCredentialStore from "../fixtures/MemoryCredentialStore.ts"
import * as SocketIoClient from "../../src/adapters/socketio/client/SocketIoClient.ts"
import { DocumentReader } from "../../src/application/ports/files/DocumentReader.ts"
import { McpConnector } from "../../src/application/ports/McpSession.ts"
import { TransportClient } from "../../src/application/ports/Transport.ts"
import { decodeEndpoint, type ServerType, StreamableParameters } from "../../src/domain/config/endpointParameters.ts"

export type Headers = { readonly [name: string]: string }

/** Sends requests of one kind to a web server, which answers all of them with one status. */
export interface Sender {
  /** The status of the responses; 403 by default. */
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

/** The senders of requests to other machines, by what they send. */
export const senders = {
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
