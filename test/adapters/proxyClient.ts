import { Effect } from "effect"
import { senders } from "./requestSenders.ts"

// A program: sends the requests of the named senders to the URL.
const [url = "", ...names] = process.argv.slice(2)
for (const name of names) {
  const { send } = senders[name as keyof typeof senders]
  await Effect.runPromiseExit(send(url, {}))
}
process.exit(0)
