import { Console as NodeConsole } from "node:console"
import { Effect, Equal, Stream } from "effect"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { serveTools as serveHttp } from "../../../adapters/packs/http/ToolServer.ts"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackTable.ts"
import { printLine } from "../output/print.ts"
import { requireCredentials } from "../requireCredentials.ts"
import type { ServeToolsCommandOptions } from "./flags.ts"
import { foldersOrDefault, packHostFor } from "./packHostFor.ts"
import { formatCount } from "../../../application/shared/formatCount.ts"

/** Logs every pack that becomes ready. PackHost itself logs the problems of a pack. */
const logReadyPacks = Effect.gen(function* () {
  const { changes } = yield* PackHost
  let known = new Map<string, PackView["status"]>()
  yield* Stream.runForEach(changes, (packs) => {
    const lines = packs.flatMap(({ name, path, status }) =>
      status._tag === "Ready" && !Equal.equals(known.get(path), status)
        ? [Effect.logInfo("pack ready", { pack: name, tools: status.tools.length, warnings: status.warnings })]
        : []
    )
    known = new Map(packs.map(({ path, status }) => [path, status]))
    return Effect.all(lines, { discard: true })
  })
})

const servePacks = Effect.fnUntraced(function* (options: ServeToolsCommandOptions) {
  const { packs, session } = yield* PackHost
  const found = yield* packs
  yield* Effect.forkScoped(logReadyPacks)
  if (found.length === 0) {
    yield* Effect.logWarning("no packs found", { folders: options.folders })
  }
  if (options.mcp === "stdio") {
    // MCP owns stdout: packs print to stderr.
    globalThis.console = new NodeConsole(process.stderr)
    return yield* publishStdio(session)
  }
  const { allowedHosts, allowedOrigins, host, key, maxBodyBytes, maxFileBytes, port, publicDocs } = options
  const limits = { maxBodyBytes, maxFileBytes }
  const { url } = yield* serveHttp({
    host,
    port,
    publicDocs,
    allowedHosts,
    allowedOrigins,
    key: key ?? "allowAll",
    ...limits
  })
  const ready = found.filter(({ status }) => status._tag === "Ready").length
  return yield* Effect.andThen(
    printLine(`serving ${ready} of ${formatCount(found.length, "pack")} at ${url}`),
    Effect.never
  )
})

/** Serves packs until the process is stopped. */
export const serveTools = Effect.fnUntraced(function* (options: ServeToolsCommandOptions) {
  const { folders, force, host, key, mcp, timeout, watch } = options
  if (mcp === "http" && !force) {
    yield* requireCredentials(
      host,
      key !== undefined,
      "the tool server",
      "set AUTOMATA_API_KEY, listen on 127.0.0.1, or give --force"
    )
  }
  const existingFolders = yield* foldersOrDefault(folders)
  return yield* Effect.provide(servePacks(options), packHostFor(existingFolders, options, { timeout, watch }))
})
