/** Connects to a server that redirects, over each transport; prints the codes of the errors. */
import { A2cError, connectAgent } from "a2c-smcp/agent"

const [url = ""] = process.argv.slice(2)
for (const transports of [["polling"], ["websocket"]] as const) {
  await connectAgent({ url, office: "team", name: "thinker", token: "secret", transports }).catch((error: unknown) => {
    console.log(error instanceof A2cError ? error.code : error)
  })
}
