import type { IncomingMessage, ServerResponse } from "node:http"
import type { Transport } from "engine.io"
import { writeProgressOf } from "../../http/writeProgress.ts"
import { checkPayloads } from "../internals.ts"
import type { TrafficListener } from "./Traffic.ts"

const packetSeparator = "\u001e"

/** Packets per payload. One payload is handled in one tick; more packets than this exceed the rate limit anyway. */
const maxPacketsPerPayload = 16 * 1024

const hasAcceptableCount = (payload: string): boolean => {
  let count = 1
  for (let at = payload.indexOf(packetSeparator); at !== -1; at = payload.indexOf(packetSeparator, at + 1)) count += 1
  return count <= maxPacketsPerPayload
}

/** Closes a connection that polls and sends too many packets at once. */
export const limitPacketsPerPayload = (transport: Transport): void =>
  checkPayloads(transport, hasAcceptableCount, "too_many_packets")

/** Memory of a part of a payload beside its bytes. */
const chunkOverhead = 64

const sentBytesOf = ({ socket }: ServerResponse): number => (socket === null ? 0 : writeProgressOf(socket).bytesSent)

/** Counts the bytes of the requests and responses of one connection that polls. `maxPayloadBytes` of one payload count. */
export const makePollingBuffers = (listener: () => TrafficListener | undefined, maxPayloadBytes: () => number) => {
  /**
   * Responses that the network has not taken, with the bytes that it had taken from their connection before. There may be
   * several: a peer may poll again on another connection before it has read a response.
   */
  const unread = new Map<ServerResponse, number>()
  let unreadBytes = 0
  let readBytes = 0
  /** Of the payload that arrives. */
  let payloadBytes = 0
  let receivedBytes = 0
  return {
    /** Counts a response until it is sent; `bytes` is the size of its messages. */
    trackResponse: (response: ServerResponse, bytes: number): void => {
      unread.set(response, sentBytesOf(response))
      unreadBytes += bytes
      response.once("close", () => {
        unread.delete(response)
        unreadBytes -= bytes
        readBytes += bytes
        listener()?.onBacklogChange()
      })
    },
    /** Counts the data of a request, which another listener must read. */
    trackPayload: (request: IncomingMessage): void => {
      request.on("data", (chunk: Buffer | string) => {
        const bytes = Buffer.byteLength(chunk)
        receivedBytes += bytes
        // Engine.IO drops a payload that is too large.
        payloadBytes = payloadBytes > maxPayloadBytes() ? 0 : payloadBytes + bytes + chunkOverhead
        listener()?.onBytesReceived()
      })
      request.once("close", () => {
        payloadBytes = 0
        listener()?.onBytesReceived()
      })
    },
    bufferedBytes: (): number => unreadBytes,
    incompleteBytes: (): number => payloadBytes,
    receivedBytes: (): number => receivedBytes,
    sentBytes: (): number =>
      [...unread].reduce((sum, [sent, before]) => sum + Math.max(0, sentBytesOf(sent) - before), readBytes),
    pauseFor: () => undefined,
    hasUnread: (): boolean => unread.size > 0,
    /** Closes the connections of responses that the peer does not read: they outlive the session and hold its messages. */
    destroyUnread: (): void => {
      for (const response of unread.keys()) response.destroy()
    }
  }
}
