/** Runs a Server, prints its URL, and closes it when stdin ends. */
import { once } from "node:events"
import { runServer } from "a2c-smcp/promise"

// Members see many pings in a short time.
await using server = await runServer({ authenticate: "allowAll", pingInterval: 1000, pingTimeout: 5000 })
console.log(server.url)
await once(process.stdin.resume(), "end")
