import type { Writable } from "node:stream"
import { Effect, Equal, Fiber, Stream } from "effect"
import { withProtocolOutput } from "../../../adapters/process/protocolOutput.ts"
import { publishStdio } from "../../../adapters/mcp/publish/publishStdio.ts"
import { serveTools as serveHttp } from "../../../adapters/packs/http/ToolServer.ts"
import { PackHost } from "../../../application/packs/PackHost.ts"
import { isPending, type PackView } from "../../../application/packs/PackTable.ts"
import { printLine } from "../output/print.ts"
import { requireCredentials } from "../requireCredentials.ts"
import type { ServeToolsCommandOptions } from "./flags.ts"
import { foldersOrDefault, packHostFor } from "./packTools.ts"
import { formatQuantity } from "../../../domain/text/format.ts"

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

/** The server starts this long after a pack became ready or failed. Slower packs are offered later: one may never load. */
const startDelay = "2 seconds"

/** The server starts this long after its process without any such pack: MCP hosts do not wait much longer. */
const maxStartDelay = "10 seconds"

/** Waits until all packs are loaded, or for the first ones. */
const loadFirstPacks = Effect.gen(function* () {
  const { changes, rescan } = yield* PackHost
  const loading = yield* Effect.forkScoped(rescan)
  const firstSettled = changes.pipe(
    Stream.map((packs) => packs.filter(({ status }) => !isPending(status)).length),
    Stream.changes,
    Stream.debounce(startDelay),
    Stream.filter((settled) => settled > 0),
    Stream.runHead
  )
  yield* Effect.raceFirst(Effect.raceFirst(Fiber.await(loading), firstSettled), Effect.sleep(maxStartDelay))
})

const servePacks = Effect.fnUntraced(function* (options: ServeToolsCommandOptions, output?: Writable) {
  const { packs, session } = yield* PackHost
  yield* loadFirstPacks
  const found = yield* packs
  yield* Effect.forkScoped(logReadyPacks)
  if (found.length === 0) {
    yield* Effect.logWarning("no packs found", { folders: options.folders })
  }
  if (output !== undefined) return yield* publishStdio(session, { stdout: output })
  const { url } = yield* serveHttp({ ...options, key: options.key ?? "allowAll" })
  const ready = found.filter(({ status }) => status._tag === "Ready").length
  return yield* Effect.andThen(
    printLine(`serving ${ready} of ${formatQuantity(found.length, "pack")} at ${url}`),
    Effect.never
  )
})

export const serveToolsCommand = Effect.fnUntraced(function* (options: ServeToolsCommandOptions) {
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
  const serve = (output?: Writable) =>
    Effect.scoped(
      Effect.provide(servePacks(options, output), packHostFor(existingFolders, options, { timeout, watch }))
    )
  // Packs may print: MCP over stdio has an output for itself.
  return yield* mcp === "stdio" ? withProtocolOutput(serve) : serve()
})
