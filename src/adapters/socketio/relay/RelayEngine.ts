import type { IncomingMessage } from "node:http"
import { Server, type Socket as EngineSocket, type Transport } from "engine.io"
import { WebSocketServer } from "ws"
import { asEngineRequest, withCloseTimeout } from "../internals.ts"
import { closeTimeout, maxEnvelopeBytes } from "../limits.ts"
import { ByteWebSocket } from "./ByteWebSocket.ts"
import { extendKeepaliveOnProgress } from "./keepalive.ts"
import { makePollingTransport } from "./pollingTransport.ts"
import { relayTransportOf } from "./RelayTransport.ts"

interface RelayEngineOptions {
  readonly maxMessageBytes: number
  readonly allowedOrigins: ReadonlyArray<string>
  readonly pingInterval: number
  readonly pingTimeout: number
}

/**
 * The server of Engine.IO, with transports that relay messages as bytes. It reads messages up to twice the limit: their
 * senders get an error instead of a closed connection.
 */
export class RelayEngine extends Server {
  readonly #maxPayloadBytes: number
  constructor({ allowedOrigins, maxMessageBytes, pingInterval, pingTimeout }: RelayEngineOptions) {
    const maxPayload = 2 * maxMessageBytes + maxEnvelopeBytes
    super({
      maxHttpBufferSize: maxMessageBytes,
      httpCompression: false,
      pingInterval,
      pingTimeout,
      wsEngine: class extends WebSocketServer {
        constructor(options: ConstructorParameters<typeof WebSocketServer>[0]) {
          super(withCloseTimeout({ ...options, maxPayload }, closeTimeout))
        }
      },
      ...(allowedOrigins.length > 0 && {
        cors: { origin: allowedOrigins.includes("*") ? true : [...allowedOrigins] }
      })
    })
    this.#maxPayloadBytes = maxPayload
    this.on("connection", (engineSocket: EngineSocket) => {
      extendKeepaliveOnProgress(engineSocket)
      relayTransportOf(engineSocket).onConnection?.(engineSocket)
    })
  }

  protected override createTransport(name: string, incoming: IncomingMessage): Transport {
    const request = asEngineRequest(incoming)
    return name === "websocket" ? new ByteWebSocket(request) : makePollingTransport(request, this.#maxPayloadBytes)
  }
}
