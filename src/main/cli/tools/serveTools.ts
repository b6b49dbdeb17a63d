import { Console as NodeConsole } from "node:console"
import { Console, type Duration, Effect, Equal, Option, type Redacted, Stream } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { serveTools as serveHttp } from "../../../adapters/packs/http/ToolServer.ts"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackView.ts"
import { toCommandFailed, failCommand } from "../CommandFailed.ts"
import { foldersOrDefault, packHostFor, type PackRuntimeOptions } from "./packHostFor.ts"
import { isLoopbackName } from "../publishOverHttp.ts"

/** What `a2c tools serve` is told. */
export interface ServeToolsCommandOptions extends PackRuntimeOptions {
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
  readonly maxBodyBytes: number
  readonly maxFileBytes: number
}

/** Says what becomes of packs while they are served; what is wrong with one is a warning already. */
const logReadyPacks = Effect.gen(function* () {
  const { changes } = yield* PackHost
  let known = new Map<string, PackView["status"]>()
  yield* Stream.runForEach(changes, (packs) => {
    const becameReady = packs.filter(
      ({ path, status }) => status._tag === "Ready" && !Equal.equals(known.get(path), status)
    )
    known = new Map(packs.map(({ path, status }) => [path, status]))
    return Effect.forEach(
      becameReady,
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

const servePacks = Effect.fnUntraced(function* (options: ServeToolsCommandOptions) {
  const { packs, session } = yield* PackHost
  const found = yield* packs
  yield* Effect.forkScoped(logReadyPacks)
  if (found.length === 0) {
    yield* Effect.logWarning("no packs yet", { folders: options.folders })
  }
  if (options.mcp === "stdio") {
    // What packs print belongs to nobody: stdout speaks MCP.
    globalThis.console = new NodeConsole(process.stderr)
    return yield* Effect.mapError(publishStdio(session), toCommandFailed)
  }
  const { allowedHosts, allowedOrigins, host, key, maxBodyBytes, maxFileBytes, port } = options
  const { url } = yield* Effect.mapError(
    serveHttp({
      host,
      port,
      allowedHosts,
      allowedOrigins,
      maxBodyBytes,
      maxFileBytes,
      ...(Option.isSome(key) && { key: key.value })
    }),
    toCommandFailed
  )
  const ready = found.filter(({ status }) => status._tag === "Ready").length
  return yield* Effect.andThen(
    Console.log(`serving ${ready} of ${found.length} packs at ${url}`),
    Effect.never
  )
})

/** Serves packs until it is told to stop. */
export const serveTools = Effect.fnUntraced(
  function* (options: ServeToolsCommandOptions) {
    const { folders, force, host, key, mcp, timeout, watch } = options
    if (mcp === "http" && Option.isNone(key) && !isLoopbackName(host) && !force) {
      return yield* failCommand(
        `Whoever reaches ${host} could call these tools: set AUTOMATA_API_KEY, listen on 127.0.0.1, ` +
          "or give --force"
      )
    }
    const existingFolders = yield* foldersOrDefault(folders)
    // It has been read, and packs see the environment.
    delete process.env["AUTOMATA_API_KEY"]
    return yield* Effect.provide(
      servePacks(options),
      packHostFor(existingFolders, options, { timeout, watch })
    )
  },
  Effect.scoped,
  Effect.mapError(toCommandFailed)
)
