import { once } from "node:events"
import type { Server } from "node:http"

/** Longest queue of connections that wait to be accepted: all the peers of a case may come at once. */
const backlog = 4096

/** Listens on a free port of this machine; gives the address. */
export const listen = async (http: Server): Promise<string> => {
  http.listen({ port: 0, host: "127.0.0.1", backlog })
  await once(http, "listening")
  const address = http.address()
  if (typeof address !== "object" || address === null) throw new Error("the server has no port")
  return `127.0.0.1:${address.port}`
}
