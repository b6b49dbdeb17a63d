import { rmSync } from "node:fs"
import type { Socket } from "node:net"
import { killWhenOrphaned } from "../process/orphanWatchdog.ts"
import { type ToPrimary, toPrimary, type ToWorker, toWorker } from "./workerMessages.ts"
import type { WorkerIdentity } from "./WorkerIdentity.ts"

/** Milliseconds between two signs of a worker that its event loop turns. */
const aliveInterval = 1000

/** Milliseconds for the end of a worker without primary process whose event loop is blocked. Others end at once. */
const orphanGrace = 2000

type Listener = (message: ToWorker, socket: unknown) => void

/** The channel from a worker to its primary process, without which the worker ends. */
export interface PrimaryChannel {
  /** Sends a message, with a connection that stays open here. */
  readonly send: (message: ToPrimary, socket?: Socket, onSent?: () => void) => void
  /** Adds a listener of all messages. */
  readonly listen: (listener: Listener) => void
}

export const openPrimaryChannel = ({ folder }: WorkerIdentity): PrimaryChannel => {
  const listeners: Array<Listener> = []
  process.on("message", (raw, socket) => {
    const message = toWorker.decode(raw)
    for (const listener of listeners) listener(message, socket)
  })
  // The channel alone does not keep this process running.
  process.channel?.unref()
  process.once("disconnect", () => {
    // A primary process that was killed leaves it behind.
    rmSync(folder, { recursive: true, force: true })
    process.exit()
  })
  killWhenOrphaned(process.pid, orphanGrace)
  const send: PrimaryChannel["send"] = (message, socket, onSent = () => undefined) =>
    void process.send?.(toPrimary.encode(message), socket, { keepOpen: true }, onSent)
  setInterval(() => send({ _tag: "Alive" }), aliveInterval).unref()
  return { send, listen: (listener) => void listeners.push(listener) }
}
