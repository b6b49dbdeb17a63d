import { Effect, Queue, type Scope } from "effect"
import { publishHttp, type PublishHttpOptions } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import type { McpSession } from "../../../../src/application/ports/McpSession.ts"
import { asObject, isJsonObject, type JsonObject, parseJson } from "../../../../src/domain/json.ts"
import { overStreams } from "./clients.ts"

/** A host without an SDK, which sees each message as it is. */
export interface Host {
  /** Sends a request and gives its response. Interruption cancels it. */
  readonly request: (method: string, params?: JsonObject) => Effect.Effect<JsonObject>
  /** Sends a message that gets no response. */
  readonly send: (message: JsonObject) => Effect.Effect<void>
  /** The messages that are not responses, in order. */
  readonly received: Queue.Queue<JsonObject>
  /** The response to its handshake: to `initialize`, or to `server/discover`. */
  readonly handshake: JsonObject
}

export type Era = "2025-11-25" | "2026-07-28"

interface Wire {
  readonly transmit: (message: JsonObject, signal?: AbortSignal) => void
  /** Otherwise the HTTP connection of the request is closed. */
  readonly cancelsByMessage: boolean
}

/** Gives a host over a wire whose messages go to `onMessage`. */
const makeHost = Effect.fnUntraced(function* (
  era: Era,
  capabilities: JsonObject,
  connect: (onMessage: (message: JsonObject) => void) => Effect.Effect<Wire, unknown, Scope.Scope>
) {
  const received = yield* Queue.unbounded<JsonObject>()
  const pending = new Map<unknown, (response: JsonObject) => void>()
  const { cancelsByMessage, transmit } = yield* connect((message) => {
    if ("method" in message) Queue.offerUnsafe(received, message)
    else pending.get(message["id"])?.(message)
  })
  let count = 0
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": era,
    "io.modelcontextprotocol/clientInfo": { name: "host", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities
  }
  const request: Host["request"] = (method, params = {}) =>
    Effect.callback((resume, signal) => {
      count += 1
      const id = count
      pending.set(id, (response) => resume(Effect.succeed(response)))
      const _meta = era === "2026-07-28" ? { ...envelope, ...asObject(params["_meta"]) } : params["_meta"]
      transmit({ id, method, params: { ...params, ...(_meta !== undefined && { _meta }) } }, signal)
      return Effect.sync(() => {
        pending.delete(id)
        if (cancelsByMessage) transmit({ method: "notifications/cancelled", params: { requestId: id } })
      })
    })
  const clientInfo = { name: "host", version: "1" }
  const handshake =
    era === "2025-11-25"
      ? yield* request("initialize", { protocolVersion: era, capabilities, clientInfo })
      : yield* request("server/discover")
  const host: Host = { request, send: (message) => Effect.sync(() => transmit(message)), received, handshake }
  return host
})

const encode = (message: JsonObject) => JSON.stringify({ jsonrpc: "2.0", ...message })

const stdioWire = (session: McpSession) =>
  Effect.fnUntraced(function* (onMessage: (message: JsonObject) => void) {
    const { stdin, stdout } = yield* overStreams(session)
    let rest = ""
    stdout.on("data", (chunk) => {
      const lines = `${rest}${chunk}`.split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) onMessage(asObject(parseJson(line)))
    })
    return { cancelsByMessage: true, transmit: (message: JsonObject) => void stdin.write(`${encode(message)}\n`) }
  })

/** Sends requests to this URL. A host of 2025-11-25 names its session, and opens the stream of its messages. */
const httpWire = (url: string, era: Era) =>
  Effect.fnUntraced(function* (onMessage: (message: JsonObject) => void) {
    const closing = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    let session: Record<string, string> = {}
    const read = async (response: Response) => {
      let rest = ""
      for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
        rest += chunk
        const lines = rest.split("\n")
        rest = lines.pop() ?? ""
        for (const line of lines) {
          const message = parseJson(line.replace(/^data: /, ""))
          if (isJsonObject(message)) onMessage(message)
        }
      }
      const message = parseJson(rest)
      if (isJsonObject(message)) onMessage(message)
    }
    const open = async (method: "GET" | "POST", message: JsonObject, signal: AbortSignal) => {
      const params = asObject(message["params"])
      const name = params["name"] ?? params["uri"] ?? params["taskId"]
      const response = await fetch(url, {
        method,
        signal,
        headers: {
          "Content-Type": "application/json",
          Accept: method === "GET" ? "text/event-stream" : "application/json, text/event-stream",
          "MCP-Protocol-Version": era,
          ...session,
          ...(era === "2026-07-28" && { "Mcp-Method": String(message["method"]) }),
          ...(era === "2026-07-28" && typeof name === "string" && { "Mcp-Name": name })
        },
        ...(method === "POST" && { body: encode(message) })
      })
      const id = response.headers.get("mcp-session-id")
      if (id !== null) session = { "Mcp-Session-Id": id }
      const isInitialized = message["method"] === "notifications/initialized"
      if (isInitialized) void open("GET", {}, signal).catch(() => undefined)
      await read(response)
    }
    return {
      cancelsByMessage: era === "2025-11-25",
      transmit: (message: JsonObject, signal?: AbortSignal) => {
        const signals = signal === undefined || era === "2025-11-25" ? [closing.signal] : [closing.signal, signal]
        void open("POST", message, AbortSignal.any(signals)).catch(() => undefined)
      }
    }
  })

export type HostKind = readonly [
  name: string,
  era: Era,
  /** Opens a host after its handshake; one of 2025-11-25 is not initialized yet. */
  open: (session: McpSession, capabilities?: JsonObject) => Effect.Effect<Host, unknown, Scope.Scope>
]

/** A host of a URL, so several can share one. */
export const openHttpHost = (url: string, era: Era, capabilities: JsonObject = {}) =>
  makeHost(era, capabilities, httpWire(url, era))

export const publishAt = (session: McpSession, options: Partial<PublishHttpOptions> = {}) =>
  Effect.map(publishHttp(session, { port: 0, token: "allowAll", ...options }), ({ url }) => url)

/** Hosts of both eras over both transports. */
export const hostKinds: ReadonlyArray<HostKind> = (["2025-11-25", "2026-07-28"] as const).flatMap((era) => [
  [`${era} over stdio`, era, (session, capabilities = {}) => makeHost(era, capabilities, stdioWire(session))],
  [
    `${era} over HTTP`,
    era,
    (session, capabilities = {}) => Effect.flatMap(publishAt(session), (url) => openHttpHost(url, era, capabilities))
  ]
])

/** Declares a host of 2025-11-25 initialized, and lets one of 2026-07-28 listen for all changes. */
export const listenToAll = ({ request, send }: Host, era: Era, resourceSubscriptions: ReadonlyArray<string> = []) =>
  era === "2025-11-25"
    ? Effect.andThen(
        send({ method: "notifications/initialized" }),
        Effect.forEach(resourceSubscriptions, (uri) => request("resources/subscribe", { uri }), { discard: true })
      )
    : Effect.forkScoped(
        request("subscriptions/listen", {
          notifications: {
            toolsListChanged: true,
            promptsListChanged: true,
            resourcesListChanged: true,
            resourceSubscriptions
          }
        })
      )

/** The next message with this method. */
export const nextOf = ({ received }: Host, method: string) =>
  Effect.repeat(Queue.take(received), { until: (message) => message["method"] === method })
