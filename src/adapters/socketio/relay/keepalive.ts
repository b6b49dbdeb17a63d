import type { Socket } from "node:net"
import { hasProgressed, measureProgress } from "./progress.ts"

/** The parts of a connection of Engine.IO by which it finds out that its member is gone. */
export interface EngineSocketInternals {
  readonly transport: object
  readonly server: { readonly opts: { readonly pingTimeout: number } }
  pingTimeoutTimer: ReturnType<typeof setTimeout> | null
  resetPingTimeout: () => void
  sendPacket(type: "ping"): void
  onClose(reason: string): void
  on(event: "upgrade", listener: () => void): unknown
}

/**
 * Waits for the answer to a ping, longer than Engine.IO would: who is still sending or taking a long message cannot
 * answer before its end, and is there as long as bytes move on the wires of its transport, which `wiresOf` gives.
 */
export const extendKeepaliveOnProgress = (
  engineSocket: EngineSocketInternals,
  netSocketsOf: (transport: object) => ReadonlyArray<Socket>
): void => {
  const sendPing = () => {
    engineSocket.sendPacket("ping")
    engineSocket.resetPingTimeout()
  }
  engineSocket.resetPingTimeout = () => {
    const { pingTimeout } = engineSocket.server.opts
    clearTimeout(engineSocket.pingTimeoutTimer ?? undefined)
    const baseline = netSocketsOf(engineSocket.transport).map(measureProgress)
    engineSocket.pingTimeoutTimer = setTimeout(() => {
      const isNewSocket = (candidate: Socket) => !baseline.some(({ socket }) => socket === candidate)
      const isMoving = baseline.some((progress) => hasProgressed(progress, pingTimeout))
      // Another connection of the same member says as much: polling has many.
      if (!isMoving && !netSocketsOf(engineSocket.transport).some(isNewSocket))
        return engineSocket.onClose("ping timeout")
      // The member wants a sign of life, too, and gets none from Engine.IO before it has answered the last one.
      sendPing()
    }, pingTimeout)
  }
  // Engine.IO forgets with the old transport that it waits for an answer, and pings again only when that has come.
  engineSocket.on("upgrade", sendPing)
}
