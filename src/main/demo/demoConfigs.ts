import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createRequire } from "node:module"
import { Effect, FileSystem, Result, Schedule } from "effect"
import { ChildProcess } from "effect/process"
import { spawnGuarded } from "../../adapters/process/spawnGuarded.ts"
import { parseComputerConfig } from "../../domain/config/parseConfig.ts"
import type { ComputerConfig } from "../../domain/config/computerConfig.ts"
import { CommandFailed, failCommand } from "../CommandFailed.ts"
import * as NpmInstaller from "../../adapters/packs/install/NpmInstaller.ts"
import { noHomeAdvice, userCacheFolder } from "../../adapters/process/userFolders.ts"
import { PackInstaller } from "../../application/ports/packs/PackInstaller.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { printText } from "../cli/output/print.ts"

/** The MCP servers of the demo, with the versions that it installs. */
export const demoServers = {
  "@modelcontextprotocol/server-everything": "2026.8.31",
  "@modelcontextprotocol/server-memory": "2026.8.31"
} as const

const packages = Object.entries(demoServers).map(([name, version]) => `${name}@${version}`)

/** The entry point of an MCP server, as installed beside this package or by the demo. */
const findDemoServer = (name: string) => {
  const folder = userCacheFolder("demo")
  const paths = [import.meta.dirname, ...(folder === undefined ? [] : [folder])]
  const find = () => createRequire(import.meta.url).resolve(`${name}/dist/index.js`, { paths })
  return Result.getOrUndefined(Result.try(find))
}

const areFound = (): boolean => Object.keys(demoServers).every((name) => findDemoServer(name) !== undefined)

/** Installs the MCP servers of the demo from npm into a cache of the user, unless they are there. */
export const installDemoServers = Effect.fnUntraced(
  function* () {
    if (areFound()) return
    const folder = userCacheFolder("demo")
    if (folder === undefined) return yield* Effect.fail(noHomeAdvice("XDG_CACHE_HOME"))
    yield* printText("The demo installs two MCP servers from npm, once …")
    yield* FileSystem.FileSystem.use((fs) => fs.makeDirectory(folder, { recursive: true }))
    yield* PackInstaller.use(({ install }) => install({ folder, language: "node", packages }, () => Effect.void)).pipe(
      Effect.provide(NpmInstaller.layer())
    )
  },
  Effect.mapError(
    (error) =>
      new CommandFailed({
        message: `The MCP servers of the demo cannot be installed: ${errorMessage(error)}. Install them yourself: npm install ${packages.join(" ")}`
      })
  )
)

/** Fails when an MCP server is not installed: `installDemoServers` comes before. */
const programOf = (name: keyof typeof demoServers) =>
  Effect.suspend(() => {
    const program = findDemoServer(name)
    return program === undefined ? failCommand(`${name} is not installed`) : Effect.succeed(program)
  })

const freePort = Effect.callback<number>((resume) => {
  const probe = createServer()
  probe.listen(0, "127.0.0.1", () => {
    const address = probe.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    probe.close(() => resume(Effect.succeed(port)))
  })
})

const toConfig = (servers: object): ComputerConfig => Result.getOrThrow(parseComputerConfig({ servers }))
const autoApproved = { default_tool_meta: { auto_apply: true } }
const nodeProgram = (...args: ReadonlyArray<string>) => ({ command: process.execPath, args })

/** The settings of the MCP servers in this process. */
const inProcess = {
  devices: { type: "stdio", server_parameters: nodeProgram(), ...autoApproved },
  packs: { type: "stdio", server_parameters: nodeProgram(), ...autoApproved }
}

/** An MCP server that does not start. */
const calendar = {
  type: "stdio",
  server_parameters: nodeProgram("-e", "console.error('calendar: no account is configured'); process.exit(1)")
}

const deskServers = Effect.gen(function* () {
  const memory = yield* programOf("@modelcontextprotocol/server-memory")
  const fs = yield* FileSystem.FileSystem
  const folder = yield* fs.makeTempDirectoryScoped({ directory: tmpdir(), prefix: "a2c-demo-" })
  const notes = fileURLToPath(new URL(`./notesServer${import.meta.url.slice(-3)}`, import.meta.url))
  return {
    memory: {
      type: "stdio",
      server_parameters: { ...nodeProgram(memory), env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") } },
      ...autoApproved
    },
    notes: { type: "stdio", server_parameters: nodeProgram(notes), ...autoApproved }
  }
})

/** A Computer with two MCP servers on stdio: the memory server from npm, and the notes server of the demo. */
export const deskConfig = Effect.map(deskServers, toConfig)

/** As {@link deskConfig}, with a tool that needs consent and a server that does not start. */
export const pageDeskConfig = Effect.map(deskServers, ({ memory, notes }) =>
  toConfig({ memory, notes: { ...notes, tool_meta: { clear_notes: { auto_apply: false } } }, calendar, ...inProcess })
)

/** Starts the reference server "everything" over Streamable HTTP and returns its URL. It does not report its port. */
const startEverything = Effect.fnUntraced(function* (program: string) {
  const port = yield* freePort
  const server = yield* spawnGuarded(
    ChildProcess.make(process.execPath, [program, "streamableHttp"], {
      env: { PORT: String(port) },
      extendEnv: true,
      stdout: "ignore",
      stderr: "ignore",
      forceKillAfter: "1 second"
    })
  )
  const url = `http://127.0.0.1:${port}/mcp`
  const reached = Effect.tryPromise((signal) => fetch(url, { method: "DELETE", signal })).pipe(
    Effect.retry(Schedule.spaced("50 millis").pipe(Schedule.upTo({ duration: "20 seconds" })))
  )
  // It exits when another process has taken the port.
  const ended = Effect.flatMap(server.exitCode, (code) => Effect.fail(code))
  yield* Effect.raceFirst(reached, ended)
  return url
})

/** A Computer with one MCP server over Streamable HTTP, started here. */
export const labConfig = Effect.gen(function* () {
  const everything = yield* programOf("@modelcontextprotocol/server-everything")
  const url = yield* startEverything(everything).pipe(
    Effect.retry({ times: 3 }),
    Effect.mapError(() => new CommandFailed({ message: "The HTTP server of the demo does not start" }))
  )
  return toConfig({
    everything: {
      type: "streamable",
      server_parameters: { url },
      ...autoApproved,
      tool_meta: { "get-sum": { alias: "add", tags: ["arithmetic"] } }
    }
  })
})
