/** Runs a Server for pages of some origins, prints its URL, and closes it when stdin ends. */
import { once } from "node:events"
import { runServer } from "a2c-smcp/promise"

// Members see many pings in a short time.
// Node 22 does not know the syntax `await using`.
const server = await runServer({
  authenticate: "allowAll",
  allowedOrigins: process.argv.slice(2),
  pingInterval: 1000,
  pingTimeout: 5000
})
console.log(server.url)
await once(process.stdin.resume(), "end")
await server.close()
