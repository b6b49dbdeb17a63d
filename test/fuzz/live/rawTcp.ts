import { connect, type Socket } from "node:net"

/** Local addresses for outgoing connections: one address alone would exhaust its ports and its connection limits. */
const addresses = 200

let opened = 0

/** A plain TCP connection. */
export interface RawTcp {
  readonly write: (bytes: Buffer | string) => void
  /** Ends the sending side. */
  readonly end: () => void
  readonly isClosed: () => boolean
  /** Waits until the peer has closed; gives the received text, up to a limit. */
  readonly closed: Promise<string>
  /** Waits until a text arrives; false when the connection closes first. */
  readonly receive: (text: string) => Promise<boolean>
  /** Drops the received text. */
  readonly forget: () => void
  /** Subscribes to the received bytes. */
  readonly listen: (listener: (bytes: Buffer) => void) => void
  /** Destroys the connection. */
  readonly destroy: () => void
}

/** Maximum number of buffered characters. */
const maxReceived = 64 * 1024

/** Opens a connection to a URL's host and port. */
export const openTcp = (url: string): Promise<RawTcp> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    opened += 1
    const localAddress = `127.0.0.${2 + (opened % addresses)}`
    const socket: Socket = connect({ host: hostname, port: Number(port), localAddress, noDelay: true })
    let received = ""
    let isClosed = false
    let listeners: ReadonlyArray<() => void> = []
    const notified = () => {
      for (const listener of listeners) listener()
    }
    const over = Promise.withResolvers<string>()
    socket.once("error", reject)
    socket.on("error", () => socket.destroy())
    socket.on("data", (bytes: Buffer) => {
      if (received.length < maxReceived) received += bytes.toString("latin1")
      notified()
    })
    socket.once("close", () => {
      isClosed = true
      notified()
      over.resolve(received)
    })
    socket.once("connect", () =>
      resolve({
        write: (bytes) => void (socket.writable && socket.write(bytes)),
        end: () => void socket.end(),
        isClosed: () => isClosed,
        closed: over.promise,
        receive: (text) =>
          new Promise((found) => {
            const look = () => {
              if (!isClosed && !received.includes(text)) return
              listeners = listeners.filter((one) => one !== look)
              found(received.includes(text))
            }
            listeners = [...listeners, look]
            look()
          }),
        forget: () => {
          received = ""
        },
        listen: (listener) => void socket.on("data", listener),
        destroy: () => socket.destroy()
      })
    )
  })
