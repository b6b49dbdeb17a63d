import { createServer } from "node:net"
import { Effect } from "effect"

/** Below what systems give away by themselves (from 32768 on Linux), and away from what services usually have. */
const range = { from: 20_000, below: 32_000 }

/**
 * A port of this machine that nobody listens on. Unlike one that the system gives, no connection that is opened
 * meanwhile takes it, so that it can be listened on later, and again.
 */
export const freePort: Effect.Effect<number> = Effect.suspend(() => {
  const port = range.from + Math.floor(Math.random() * (range.below - range.from))
  return Effect.callback<number, "taken">((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.fail("taken")))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
  })
}).pipe(Effect.retry({ times: 100 }), Effect.orDie)
