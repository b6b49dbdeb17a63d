/** Mounts an office on the HTTP server of a program. */
import { once } from "node:events"
import { createServer } from "node:http"
import { connectAgent, runServer } from "a2c-smcp/promise"

const httpServer = createServer((_request, response) => void response.end("Hello from the program"))
httpServer.listen(0, "127.0.0.1")
await once(httpServer, "listening")

// The office has the path /smcp; the listeners of the program get all other requests.
const server = await runServer({ httpServer, authenticate: "allowAll" })
const agent = await connectAgent({ url: server.url, office: "team", name: "thinker" })
const page = await fetch(`${server.url}/hello`)
console.log(await page.text(), "-", await agent.members())

await agent.close()
await server.close()
httpServer.close()
