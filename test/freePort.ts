import { createServer } from "node:net"
import { Effect } from "effect"

/** Below ephemeral ports (from 32768 on Linux) and above usual ports of services. */
const range = { from: 20_000, below: 32_000 }

/**
 * Finds a local port without a listener. No outgoing connection takes it, as with a port from the system, so a test
 * can listen on it later and repeatedly.
 */
export const freePort: Effect.Effect<number> = Effect.suspend(() => {
  const port = range.from + Math.floor(Math.random() * (range.below - range.from))
  return Effect.callback<number, "taken">((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.fail("taken")))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
  })
}).pipe(Effect.retry({ times: 100 }), Effect.orDie)
