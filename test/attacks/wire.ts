import { WebSocket } from "ws"

/** The path by which everybody connects. */
const handshake = "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0"

/** What an event looks like on the wire, with a number when it wants an answer. */
export const eventText = (id: number | undefined, event: string, body: unknown): string =>
  `42/smcp,${id ?? ""}${JSON.stringify([event, body])}`

/** What asks to be let in looks like on the wire. */
export const connectText = (auth: unknown): string => `40/smcp,${JSON.stringify(auth)}`

/** Opens a WebSocket. */
export const openSocket = (url: string): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}${handshake}`)
    socket.once("open", () => resolve(socket))
    socket.once("error", reject)
  })
