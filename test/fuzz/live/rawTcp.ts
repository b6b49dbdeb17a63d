import { connect, type Socket } from "node:net"

/** Addresses of this machine that connections come from, so that ports do not run out and doors stay open. */
const addresses = 200

let opened = 0

/** A bare connection. */
export interface RawTcp {
  readonly write: (bytes: Buffer | string) => void
  /** Says that nothing more comes. */
  readonly end: () => void
  readonly isClosed: () => boolean
  /** Waits until the far end has closed; what it said, up to a bound. */
  readonly closed: Promise<string>
  /** Waits until a text was heard; false when the connection closed instead. */
  readonly hear: (text: string) => Promise<boolean>
  /** Forgets what was heard. */
  readonly forget: () => void
  /** Hears the bytes as they come. */
  readonly listen: (listener: (bytes: Buffer) => void) => void
  /** Breaks the connection off. */
  readonly destroy: () => void
}

/** Characters that are kept of what was heard. */
const mostHeard = 64 * 1024

/** Opens a connection to a URL's host and port. */
export const openTcp = (url: string): Promise<RawTcp> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url)
    opened += 1
    const localAddress = `127.0.0.${2 + (opened % addresses)}`
    const socket: Socket = connect({ host: hostname, port: Number(port), localAddress, noDelay: true })
    let heard = ""
    let isClosed = false
    let listeners: ReadonlyArray<() => void> = []
    const told = () => {
      for (const listener of listeners) listener()
    }
    const over = Promise.withResolvers<string>()
    socket.once("error", reject)
    socket.on("error", () => socket.destroy())
    socket.on("data", (bytes: Buffer) => {
      if (heard.length < mostHeard) heard += bytes.toString("latin1")
      told()
    })
    socket.once("close", () => {
      isClosed = true
      told()
      over.resolve(heard)
    })
    socket.once("connect", () =>
      resolve({
        write: (bytes) => void (socket.writable && socket.write(bytes)),
        end: () => void socket.end(),
        isClosed: () => isClosed,
        closed: over.promise,
        hear: (text) =>
          new Promise((found) => {
            const look = () => {
              if (!isClosed && !heard.includes(text)) return
              listeners = listeners.filter((one) => one !== look)
              found(heard.includes(text))
            }
            listeners = [...listeners, look]
            look()
          }),
        forget: () => {
          heard = ""
        },
        listen: (listener) => void socket.on("data", listener),
        destroy: () => socket.destroy()
      })
    )
  })
