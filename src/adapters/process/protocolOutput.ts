import { spawn } from "node:child_process"
import { createWriteStream, fstatSync } from "node:fs"
import { Socket } from "node:net"
import type { Writable } from "node:stream"
import { Effect, type Scope } from "effect"
import { killWhenOrphaned } from "./orphanWatchdog.ts"

/** The `argv[0]` of the second process, which other processes do not inherit. */
const marker = "a2c-protocol"

/** The descriptor of the protocol in the second process. */
const descriptor = 3

/**
 * Milliseconds for the second process to end by itself. Code of a pack may block it, so that it reads neither a signal nor
 * the end of stdin.
 */
const shutdownTimeout = 10_000

/** The first process has made a pipe non-blocking, which file streams do not handle. */
const openOutput = (): Writable => {
  const stats = fstatSync(descriptor)
  return stats.isFIFO() || stats.isSocket()
    ? new Socket({ fd: descriptor, readable: false, writable: true })
    : createWriteStream("", { fd: descriptor })
}

/** Runs this command a second time with its output of the protocol on descriptor 3. Succeeds with its exit code. */
const runAgain = Effect.callback<number>((resume) => {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    argv0: marker,
    // What the second process and its children print on descriptor 1 appears on stderr.
    stdio: ["inherit", process.stderr.fd, process.stderr.fd, process.stdout.fd]
  })
  const ended = new Promise<number>((resolve) => {
    child.once("error", () => resolve(1))
    child.once("exit", (code) => resolve(code ?? 1))
  })
  void ended.then((code) => resume(Effect.succeed(code)))
  return Effect.promise(() => {
    child.kill()
    const timer = setTimeout(() => child.kill("SIGKILL"), shutdownTimeout)
    return ended.finally(() => clearTimeout(timer))
  })
})

/**
 * Runs a protocol over stdin and stdout beside foreign code, which may print: in a second process, whose descriptor 1 is
 * stderr for all code and for programs that inherit it. Deno passes no other descriptor, so there only `console` prints to
 * stderr.
 */
export const withProtocolOutput = Effect.fnUntraced(function* <E, R>(
  serve: (output: Writable) => Effect.Effect<void, E, R>
): Effect.fn.Return<void, E, R | Scope.Scope> {
  if (process.versions["deno"] !== undefined) {
    globalThis.console = new (yield* Effect.promise(() => import("node:console"))).Console(process.stderr)
    return yield* serve(process.stdout)
  }
  if (process.argv0 !== marker) {
    const code = yield* runAgain
    // The second process has reported its error.
    return code === 0 ? undefined : process.exit(code)
  }
  // Hosts kill the first process when it does not end in time.
  killWhenOrphaned(process.pid, shutdownTimeout)
  const output = openOutput()
  // A client that has gone is no error: its end of stdin ends the server.
  output.on("error", () => undefined)
  yield* Effect.addFinalizer(() =>
    Effect.callback<void>((resume) => void output.end(() => resume(Effect.void))).pipe(Effect.timeoutOption("1 second"))
  )
  return yield* serve(output)
})
