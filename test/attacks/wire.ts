import { WebSocket } from "ws"

/** The path and query of a connection. */
const handshake = "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0"

/** The text of an event, with an acknowledgement id if given. */
export const eventText = (id: number | undefined, event: string, body: unknown): string =>
  `42/smcp,${id ?? ""}${JSON.stringify([event, body])}`

/** The text of a connect packet. */
export const connectText = (auth: unknown): string => `40/smcp,${JSON.stringify(auth)}`

/** Opens a WebSocket. */
export const openSocket = (url: string): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}${handshake}`)
    socket.once("open", () => resolve(socket))
    socket.once("error", reject)
  })
