import type { Socket } from "node:net"
import type { Released, SentConnection } from "./workerMessages.ts"

/** Connections that a worker has not taken yet: it is busy, and others get the next ones. */
const maxUntaken = 16

/** Connections that wait for a worker. */
const maxWaiting = 1000

export type ConnectionQueue = ReturnType<typeof makeConnectionQueue>

interface Receiver {
  readonly index: number
  readonly send: (message: SentConnection | Released, socket?: Socket) => void
  /** What it has not taken yet, the oldest first. */
  readonly untaken: Array<{ readonly socket: Socket; readonly isPassed: boolean }>
}

/**
 * Sends connections to the workers in turn, each once. A connection stays open here until its worker has taken it: when the
 * worker ends before, the connection is closed, since the worker may have read of it.
 */
export const makeConnectionQueue = (onServing: (workers: ReadonlyArray<number>) => void) => {
  /** The next one first. */
  const receivers = new Set<Receiver>()
  const waiting: Array<Socket> = []

  const report = (): void => onServing([...receivers].map(({ index }) => index))

  const sendTo = ({ send, untaken }: Receiver, socket: Socket, message: SentConnection): void => {
    untaken.push({ socket, isPassed: message.read !== undefined })
    send(message, socket)
  }

  const sendWaiting = (): void => {
    for (const receiver of receivers) {
      const socket = receiver.untaken.length < maxUntaken ? waiting.shift() : undefined
      if (socket === undefined) continue
      receivers.delete(receiver)
      receivers.add(receiver)
      sendTo(receiver, socket, { _tag: "Connection" })
      return sendWaiting()
    }
  }

  return {
    /** Gives a new connection to a worker. */
    add: (socket: Socket): void => {
      socket.on("error", () => undefined)
      if (waiting.length >= maxWaiting) return void socket.destroy()
      waiting.push(socket)
      sendWaiting()
    },
    /** Gives a connection that a worker passes on to the one that it names, or closes it. */
    pass: (message: SentConnection, socket: Socket): void => {
      const owner = [...receivers].find(({ index }) => index === message.to)
      if (owner === undefined || owner.untaken.length >= maxWaiting) socket.destroy()
      else sendTo(owner, socket, message)
    },
    /** Adds a worker, as one that takes connections. */
    addReceiver: (index: number, send: Receiver["send"]) => {
      const receiver: Receiver = { index, send, untaken: [] }
      receivers.add(receiver)
      report()
      sendWaiting()
      const stop = (): void => {
        if (receivers.delete(receiver)) report()
      }
      return {
        /** The worker has taken the oldest connection. */
        taken: (): void => {
          const { isPassed = false, socket } = receiver.untaken.shift() ?? {}
          socket?.destroy()
          if (isPassed) send({ _tag: "Released" })
          sendWaiting()
        },
        /** The worker shuts down. */
        stop,
        /** The worker has ended. */
        end: (): void => {
          stop()
          for (const { socket } of receiver.untaken.splice(0)) socket.destroy()
        }
      }
    }
  }
}
