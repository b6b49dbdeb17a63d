import type { Socket } from "node:net"
import type { Socket as EngineSocket } from "engine.io"
import { closeStaleSocket, replacePongTimer, sendPing, writeProgressOf } from "../internals.ts"
import { relayTransportOf } from "./RelayTransport.ts"

/** Bytes per second that a connection must receive to count as alive. Slower senders would hold memory for ever. */
const minBytesPerSecond = 1024

const measureProgress = (socket: Socket) => ({
  socket,
  bytesRead: socket.bytesRead,
  ...writeProgressOf(socket)
})

/**
 * Tells whether the peer sent bytes in these milliseconds, or took bytes that had been queued. Bytes that were never
 * queued prove nothing: they may lie in a network buffer.
 */
const hasProgressed = (before: ReturnType<typeof measureProgress>, millis: number): boolean => {
  const now = measureProgress(before.socket)
  return (
    now.bytesRead - before.bytesRead >= (minBytesPerSecond * millis) / 1000 ||
    (before.bytesQueued > 0 && now.bytesSent > before.bytesSent)
  )
}

/**
 * Keeps a connection open without a pong while bytes move on its sockets: a member that sends or receives a long
 * message cannot answer a ping before its end.
 */
export const extendKeepaliveOnProgress = (engineSocket: EngineSocket): void => {
  const netSockets = () => relayTransportOf(engineSocket).netSockets()
  replacePongTimer(engineSocket, (millis) => {
    const baseline = netSockets().map(measureProgress)
    return setTimeout(() => {
      const isMoving = baseline.some((progress) => hasProgressed(progress, millis))
      // Polling opens new connections; a new one proves that the member is alive.
      const hasNewSocket = () => netSockets().some((now) => !baseline.some(({ socket }) => socket === now))
      // The member expects pings, too, and Engine.IO sends none before the last one is answered.
      if (isMoving || hasNewSocket()) sendPing(engineSocket)
      else closeStaleSocket(engineSocket)
    }, millis)
  })
  // Engine.IO forgets a pending ping with the old transport, and sends the next one only after its pong.
  engineSocket.on("upgrade", () => sendPing(engineSocket))
}
