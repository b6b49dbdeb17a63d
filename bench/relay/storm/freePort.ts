import { createServer } from "node:net"
import { Effect, Schedule } from "effect"

/** Ports that no system gives to outgoing connections: those of the members could take the port of their Server. */
const ports = { from: 20_000, to: 32_000 }

/** Ports to try. */
const attempts = 50

const tryPort = Effect.callback<number, Error>((resume) => {
  const port = ports.from + Math.floor(Math.random() * (ports.to - ports.from))
  const server = createServer()
  server.once("error", (error) => resume(Effect.fail(error)))
  server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
})

/** Finds a port that a Server can listen on more than once. */
export const freePort: Effect.Effect<number> = tryPort.pipe(Effect.retry(Schedule.recurs(attempts)), Effect.orDie)
