import { hash } from "node:crypto"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { PageAccess } from "../../http/hostAccess.ts"
import type { ConnectionContext } from "../connection/ConnectionContext.ts"
import { Deadlines } from "../connection/Deadlines.ts"
import { type EngineSettings, maxPayloadBytes } from "../connection/engineOptions.ts"
import { originHeaders, type GateRejection, readHead, rejectRequest, rejectUpgrade, requestUrl } from "../gate.ts"
import { defaultMaxMessageBytes, defaultPingInterval, defaultPingTimeout } from "../limits.ts"
import { engineErrors } from "../engineErrors.ts"
import { PollingTransport } from "./PollingTransport.ts"
import { type ConnectionHost, RelayConnection } from "./RelayConnection.ts"
import type { TransportListener } from "./RelayTransport.ts"
import { WebSocketTransport } from "./WebSocketTransport.ts"

/** What the query of a request says. The last value of a name counts. */
const readQuery = (request: IncomingMessage) => {
  const query = requestUrl(request)?.searchParams
  const last = (name: string) => query?.getAll(name).at(-1) ?? ""
  return { transport: last("transport"), sid: last("sid"), revision: last("EIO") }
}

/** Joined with the key of a request, proves that the server understood it (RFC 6455 §4.2.2). */
const acceptSuffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

const keyPattern = /^[+/0-9A-Za-z]{22}==$/
const protocolPattern = /^[!#$%&'*+.^_`|~\w-]+$/

/** The response that accepts a WebSocket, or the rejection. */
const acceptWebSocket = ({ headers }: IncomingMessage): Buffer | GateRejection => {
  const { "sec-websocket-key": key = "", "sec-websocket-protocol": offered, "sec-websocket-version": version } = headers
  if (version !== "13") return { ...engineErrors.badRequest, status: 426, headers: { "Sec-WebSocket-Version": "13" } }
  const protocol = offered?.split(",")[0]?.trim()
  if (!keyPattern.test(key) || (protocol !== undefined && !protocolPattern.test(protocol)))
    return engineErrors.badRequest
  const accept = hash("sha1", `${key}${acceptSuffix}`, "base64")
  const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
  lines.push(`Sec-WebSocket-Accept: ${accept}`)
  if (protocol !== undefined) lines.push(`Sec-WebSocket-Protocol: ${protocol}`)
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1")
}

/** Methods that a page of another origin may use. */
const corsMethods = "GET,POST"

/** Serves Engine.IO, revision 4, over WebSocket and long polling. */
export class RelayEngine implements ConnectionHost {
  /** By the id of their session. */
  readonly connections = new Map<string, RelayConnection>()
  readonly pings: Deadlines<RelayConnection>
  readonly pongs: Deadlines<RelayConnection>
  readonly pingTimeout: number
  readonly idPrefix: string
  readonly #context: ConnectionContext
  readonly #access: PageAccess
  readonly #maxPayloadBytes: number
  /** The end of an open packet. */
  readonly #openSettings: string

  constructor(settings: EngineSettings, context: ConnectionContext, idPrefix = "") {
    const { allowedOrigins = [], maxMessageBytes = defaultMaxMessageBytes } = settings
    const { pingInterval = defaultPingInterval, pingTimeout = defaultPingTimeout } = settings
    this.pings = new Deadlines(pingInterval, (connection) => connection.sendPing())
    this.pongs = new Deadlines(pingTimeout, (connection) => connection.onPongDue())
    this.pingTimeout = pingTimeout
    this.idPrefix = idPrefix
    this.#context = context
    this.#access = { allowedOrigins, schemes: ["http", "https"] }
    this.#maxPayloadBytes = maxPayloadBytes(maxMessageBytes)
    this.#openSettings = `"pingInterval":${pingInterval},"pingTimeout":${pingTimeout},"maxPayload":${maxMessageBytes}}`
  }

  openPacket({ id, polling }: RelayConnection): string {
    const upgrades = polling === undefined ? "[]" : '["websocket"]'
    return `0{"sid":"${id}","upgrades":${upgrades},${this.#openSettings}`
  }

  handleRequest(request: IncomingMessage, response: ServerResponse): void {
    for (const [name, value] of Object.entries(originHeaders(request, this.#access))) response.setHeader(name, value)
    if (request.method === "OPTIONS" && response.hasHeader("Access-Control-Allow-Origin")) {
      const requested = request.headers["access-control-request-headers"]
      response.setHeader("Access-Control-Allow-Methods", corsMethods)
      if (requested !== undefined) response.setHeader("Access-Control-Allow-Headers", requested)
      response.writeHead(204, { "Content-Length": "0" }).end()
      return
    }
    const { revision, sid, transport } = readQuery(request)
    if (transport !== "polling" && transport !== "websocket") rejectRequest(response, engineErrors.unknownTransport)
    else if (sid !== "") {
      const connection = this.connections.get(sid)
      if (connection === undefined) rejectRequest(response, engineErrors.unknownSession)
      else if (connection.polling === undefined || transport !== "polling" || revision !== "4") {
        rejectRequest(response, engineErrors.badRequest)
      } else connection.polling.onRequest(request, response)
    } else if (request.method !== "GET") rejectRequest(response, engineErrors.badMethod)
    else if (transport === "websocket") rejectRequest(response, engineErrors.badRequest)
    else if (revision !== "4") rejectRequest(response, engineErrors.unsupportedProtocol)
    else {
      const connection = this.#open(request, (listener) => new PollingTransport(listener, this.#maxPayloadBytes))
      connection.polling?.onRequest(request, response)
    }
  }

  handleUpgrade(request: IncomingMessage, duplex: Duplex, head: Buffer): void {
    const { revision, sid, transport } = readQuery(request)
    const accepted = acceptWebSocket(request)
    if (!(duplex instanceof Socket) || transport !== "websocket") {
      return rejectUpgrade(duplex, engineErrors.unknownTransport)
    }
    if (revision !== "4") return rejectUpgrade(duplex, engineErrors.unsupportedProtocol)
    if (!Buffer.isBuffer(accepted)) return rejectUpgrade(duplex, accepted)
    const open = (listener: TransportListener) =>
      new WebSocketTransport(duplex, accepted, listener, this.#maxPayloadBytes)
    if (sid === "") this.#open(request, open)
    else {
      const connection = this.connections.get(sid)
      if (connection === undefined) return rejectUpgrade(duplex, engineErrors.unknownSession)
      if (!connection.beginUpgrade(open)) return rejectUpgrade(duplex, engineErrors.badRequest)
    }
    if (head.length > 0) duplex.unshift(head)
    return undefined
  }

  /** Closes all connections. */
  close(): void {
    for (const connection of this.connections.values()) connection.close()
    this.pings.clear()
    this.pongs.clear()
  }

  #open(
    request: IncomingMessage,
    open: (listener: TransportListener) => PollingTransport | WebSocketTransport
  ): RelayConnection {
    const address = request.socket.remoteAddress ?? "unknown"
    const connection = new RelayConnection(this, this.#context, readHead(request), address, open)
    this.connections.set(connection.id, connection)
    this.#context.limitConnections(this.connections.size)
    return connection
  }
}
