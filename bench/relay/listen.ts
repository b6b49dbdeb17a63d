import { once } from "node:events"
import type { Server } from "node:http"

/** Length of the accept queue: all peers of a case may connect at once. */
const backlog = 4096

/** Listens on a free loopback port and returns the address. */
export const listen = async (http: Server): Promise<string> => {
  http.listen({ port: 0, host: "127.0.0.1", backlog })
  await once(http, "listening")
  const address = http.address()
  if (typeof address !== "object" || address === null) throw new Error("the server has no port")
  return `127.0.0.1:${address.port}`
}
