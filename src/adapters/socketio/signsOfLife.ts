import type { Socket } from "node:net"
import { hasMoved, progressOf } from "./progress.ts"

/** The parts of a connection of Engine.IO by which it finds out that its member is gone. */
export interface Pinged {
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
export const expectSignsOfLife = (
  connection: Pinged,
  wiresOf: (transport: object) => ReadonlyArray<Socket>
): void => {
  const ask = () => {
    connection.sendPacket("ping")
    connection.resetPingTimeout()
  }
  connection.resetPingTimeout = () => {
    const { pingTimeout } = connection.server.opts
    clearTimeout(connection.pingTimeoutTimer ?? undefined)
    const before = wiresOf(connection.transport).map(progressOf)
    connection.pingTimeoutTimer = setTimeout(() => {
      const hasCome = (wire: Socket) => !before.some(({ socket }) => socket === wire)
      const isMoving = before.some((progress) => hasMoved(progress, pingTimeout))
      // Another connection of the same member says as much: polling has many.
      if (!isMoving && !wiresOf(connection.transport).some(hasCome)) return connection.onClose("ping timeout")
      // The member wants a sign of life, too, and gets none from Engine.IO before it has answered the last one.
      ask()
    }, pingTimeout)
  }
  // Engine.IO forgets with the old transport that it waits for an answer, and pings again only when that has come.
  connection.on("upgrade", ask)
}
