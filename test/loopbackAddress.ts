import { randomInt } from "node:crypto"
import { createServer } from "node:net"
import { Effect } from "effect"

/** A local address and port. */
export interface LoopbackAddress {
  readonly host: string
  readonly port: number
}

/**
 * Makes a loopback address that no other process uses, so a test can listen on it later and repeatedly. Other systems
 * than Linux have one loopback address.
 */
export const loopbackAddress = (): LoopbackAddress => ({
  host: process.platform === "linux" ? ["127", ...[1, 2, 3].map(() => randomInt(1, 255))].join(".") : "127.0.0.1",
  // Below ephemeral ports (from 32768 on Linux) and above usual ports of services.
  port: randomInt(20_000, 32_000)
})

/** Makes a local HTTP URL at which no process listens. */
export const unusedUrl = (): string => {
  const { host, port } = loopbackAddress()
  return `http://${host}:${port}`
}

/**
 * Repeats an effect until it succeeds: it listens at a port that was closed just before, or expects a refused
 * connection there. A process that another thread starts at that moment holds the port for some milliseconds.
 */
export const whenPortIsFree = <A, E, R>(use: Effect.Effect<A, E, R>): Effect.Effect<A, never, R> =>
  Effect.eventually(use)

/** A port of 127.0.0.1 that is in use until the scope closes. */
export const usedPort = Effect.map(
  Effect.acquireRelease(
    Effect.callback<ReturnType<typeof createServer>>((resume) => {
      const server = createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  ),
  (server) => {
    const address = server.address()
    return typeof address === "object" && address !== null ? String(address.port) : ""
  }
)
