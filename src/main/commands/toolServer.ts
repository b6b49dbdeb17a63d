import { Console as NodeConsole } from "node:console"
import { Console, type Duration, Effect, Equal, Option, type Redacted, Stream } from "effect"
import { publishStdio } from "../../adapters/mcp/publish/Stdio.ts"
import { serveTools as serveHttp } from "../../adapters/packs/http/ToolServer.ts"
import { PackHost, type PackView } from "../../application/packs/PackHost.ts"
import { failed, refuse } from "../failure.ts"
import { foldersOf, hostOf, type PacksCommand } from "./packs.ts"
import { isLoopback } from "./publish.ts"

/** What `a2c tools serve` is told. */
export interface ServeCommand extends PacksCommand {
  readonly folders: ReadonlyArray<string>
  readonly host: string
  readonly port: number
  readonly key: Option.Option<Redacted.Redacted>
  /** Listen beyond this machine without a key. */
  readonly force: boolean
  readonly mcp: "http" | "stdio"
  readonly watch: boolean
  readonly timeout: Duration.Duration
  readonly allowedOrigins: ReadonlyArray<string>
  readonly allowedHosts: ReadonlyArray<string>
  readonly largestBody: number
  readonly largestFile: number
}

/** Says what becomes of packs while they are served; what is wrong with one is a warning already. */
const follow = Effect.gen(function* () {
  const { changes } = yield* PackHost
  let known = new Map<string, PackView["status"]>()
  yield* Stream.runForEach(changes, (packs) => {
    const news = packs.filter(
      ({ path, status }) => status._tag === "Ready" && !Equal.equals(known.get(path), status)
    )
    known = new Map(packs.map(({ path, status }) => [path, status]))
    return Effect.forEach(
      news,
      ({ name, status }) =>
        status._tag === "Ready"
          ? Effect.logInfo("pack ready", {
              pack: name,
              tools: status.tools.length,
              warnings: status.warnings
            })
          : Effect.void,
      { discard: true }
    )
  })
})

const stay = Effect.fnUntraced(function* (command: ServeCommand) {
  const { packs, session } = yield* PackHost
  const found = yield* packs
  yield* Effect.forkScoped(follow)
  if (found.length === 0) {
    yield* Effect.logWarning("no packs yet", { folders: command.folders })
  }
  if (command.mcp === "stdio") {
    // What packs print belongs to nobody: stdout speaks MCP.
    globalThis.console = new NodeConsole(process.stderr)
    return yield* Effect.mapError(publishStdio(session), failed)
  }
  const { allowedHosts, allowedOrigins, host, key, largestBody, largestFile, port } = command
  const { url } = yield* Effect.mapError(
    serveHttp({
      host,
      port,
      allowedHosts,
      allowedOrigins,
      largestBody,
      largestFile,
      ...(Option.isSome(key) && { key: key.value })
    }),
    failed
  )
  const ready = found.filter(({ status }) => status._tag === "Ready").length
  return yield* Effect.andThen(
    Console.log(`serving ${ready} of ${found.length} packs at ${url}`),
    Effect.never
  )
})

/** Serves packs until it is told to stop. */
export const serveTools = Effect.fnUntraced(
  function* (command: ServeCommand) {
    const { folders, force, host, key, mcp, timeout, watch } = command
    if (mcp === "http" && Option.isNone(key) && !isLoopback(host) && !force) {
      return yield* refuse(
        `Whoever reaches ${host} could call these tools: set AUTOMATA_API_KEY, listen on 127.0.0.1, ` +
          "or give --force"
      )
    }
    const places = yield* foldersOf(folders)
    // It has been read, and packs see the environment.
    delete process.env["AUTOMATA_API_KEY"]
    return yield* Effect.provide(stay(command), hostOf(places, command, { timeout, watch }))
  },
  Effect.scoped,
  Effect.mapError(failed)
)
