import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Deferred, Effect, Exit, type Scope } from "effect"
import { type Process, startNode } from "../../test/chaos/Process.ts"
import { builtCommand } from "./builtCommand.ts"
import { timeout } from "./limits.ts"
import { pin, processors } from "./pinning.ts"

/** The office of the Computer. */
export const commandOffice = "bench"

/** A small MCP server on stdio. */
const mcpServer = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-memory/dist/index.js")

/** A running process of the command. */
interface CommandProcess {
  readonly pid: number
  /** Ends it with a signal, and waits for its exit. */
  readonly end: (signal: NodeJS.Signals) => Effect.Effect<void>
}

interface CommandServer extends CommandProcess {
  /** Like `127.0.0.1:1234`. */
  readonly address: string
}

/** The shipped `a2c` command. */
export interface A2cCommand {
  /** Runs it, and gives the milliseconds from start to exit. */
  readonly run: (...args: ReadonlyArray<string>) => Effect.Effect<number>
  /** Starts a Server with default flags except the port. */
  readonly startServer: (port?: number) => Effect.Effect<CommandServer, never, Scope.Scope>
  /** Starts a Computer with a small MCP server, which has joined the office of this Server. */
  readonly startComputer: (address: string) => Effect.Effect<CommandProcess, never, Scope.Scope>
}

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "a2c-bench-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
)

const endWith =
  ({ ended, signal }: Process) =>
  (name: NodeJS.Signals) =>
    Effect.andThen(signal(name), Effect.asVoid(ended))

/** Dies with the last output of a process that ended unexpectedly. */
const dieOf = (args: ReadonlyArray<string>, { lastWords }: Process, how: number | string) =>
  Effect.die(new Error(`a2c ${args.join(" ")} ended with ${how}: ${lastWords()}`))

/** Starts and stops a Server and a Computer, which write their compiled code to the cache: killed processes do not. */
const fillCache = ({ startComputer, startServer }: A2cCommand) =>
  Effect.scoped(
    Effect.gen(function* () {
      const server = yield* startServer()
      const computer = yield* startComputer(server.address)
      yield* computer.end("SIGTERM")
      yield* server.end("SIGTERM")
    })
  )

/**
 * Makes the shipped command, with private folders for its cache and its state. Its processes are pinned as measured
 * servers, except those of `run`; they end with the scope.
 */
export const makeCommand: Effect.Effect<A2cCommand, never, Scope.Scope> = Effect.gen(function* () {
  const file = yield* Effect.sync(builtCommand)
  const folder = yield* temporaryFolder
  const variables = { XDG_CACHE_HOME: folder, XDG_STATE_HOME: folder, XDG_RUNTIME_DIR: folder }

  /** Starts a process, and waits for a line of stdout that matches. */
  const start = Effect.fnUntraced(function* (args: ReadonlyArray<string>, expected: RegExp) {
    const ready = yield* Deferred.make<string>()
    const started = yield* startNode([file, ...args], {
      variables,
      onLine: (line) => {
        const match = expected.exec(line)
        if (match !== null) Deferred.doneUnsafe(ready, Exit.succeed(match[1] ?? ""))
      }
    })
    pin(started.pid, processors.servers)
    const found = yield* Effect.raceFirst(
      Deferred.await(ready),
      Effect.flatMap(started.ended, (how) => dieOf(args, started, how))
    ).pipe(
      Effect.timeoutOrElse({
        duration: timeout,
        orElse: () => Effect.die(new Error(`a2c ${args.join(" ")} was not ready within ${timeout} ms`))
      })
    )
    return { pid: started.pid, end: endWith(started), found }
  })

  const config = join(folder, "mcp.json")
  const memory = {
    command: process.execPath,
    args: [mcpServer],
    env: { MEMORY_FILE_PATH: join(folder, "memory.json") }
  }
  writeFileSync(config, JSON.stringify({ mcpServers: { memory } }))
  const place = (address: string) => ["--server", `http://${address}`, "--office", commandOffice, "--name", "desk"]

  const command: A2cCommand = {
    run: Effect.fnUntraced(function* (...args) {
      const begun = performance.now()
      const started = yield* startNode([file, ...args], { variables })
      const how = yield* started.ended
      return how === 0 ? performance.now() - begun : yield* dieOf(args, started, how)
    }, Effect.scoped),
    startServer: (port = 0) =>
      Effect.map(
        start(["server", "--port", String(port)], /^listening on http:\/\/(\S+)/),
        ({ found: address, ...started }) => ({ ...started, address })
      ),
    startComputer: (address) =>
      start(["computer", ...place(address), "--config", config, "--approve", "*"], /^joined office/)
  }
  yield* fillCache(command)
  return command
})
