import { dirname, join, resolve } from "node:path"
import { Config, type Duration, Effect, type Layer, Stream } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackTable.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { packHostLayer } from "../../layers/packHostLayer.ts"
import { type CallToolOptions, defaultFolder, type ListToolsOptions, type PackRuntimeOptions } from "./flags.ts"
import { asObject, stringOrEmpty } from "../../../domain/json.ts"
import { CommandFailed, failCommand, failUnknownTool, requireSuccess } from "../../CommandFailed.ts"
import { makeCallProgress } from "../output/callProgress.ts"
import { type Cell, formatColumns, truncateLine } from "../output/format.ts"
import { printError, printFailure, printJson, printTable, printToolResult } from "../output/print.ts"
import { formatQuantity } from "../../../domain/text/format.ts"
import { parseToolResult } from "../../../domain/model/ToolResult.ts"
import { readArguments, toCallParams } from "../arguments/argumentSource.ts"

/** The folder of extensions that the seed searches beside the folder of packs. */
const extensionsFolder = "AutoUp-MCP-Extension"

/** The folders to search: the given ones, and the extensions beside each. */
const searchFolders = (folders: ReadonlyArray<string>): ReadonlyArray<string> => {
  const all = folders.map((folder) => resolve(folder))
  return [...new Set([...all, ...all.map((folder) => join(dirname(folder), extensionsFolder))])]
}

/** The given folders; without any, the value of `TOOLS_DIR` or the default. */
export const foldersOrDefault = (folders: ReadonlyArray<string>) =>
  folders.length > 0
    ? Effect.succeed(folders)
    : Config.String("TOOLS_DIR").pipe(
        Config.withDefault(defaultFolder),
        Effect.map((folder) => [folder])
      )

/** A host of the packs in these folders, before its first scan. */
export const packHostFor = (
  folders: ReadonlyArray<string>,
  { allowScripts, install, isolate, memory, python }: PackRuntimeOptions,
  { timeout, watch = false }: { readonly timeout?: Duration.Duration; readonly watch?: boolean } = {}
): Layer.Layer<PackHost> => {
  // Packs, their processes and npm inherit the environment, but not this key. The system keeps it in
  // /proc/PID/environ, which other processes of the same user can read.
  delete process.env["AUTOMATA_API_KEY"]
  return packHostLayer({
    folders: searchFolders(folders),
    watch,
    isolate,
    memory,
    install,
    allowScripts,
    ...definedOnly({ python, limits: timeout && { timeout } })
  })
}

/** The errors and warnings of a pack, one line each. */
const packProblems = ({ name, status }: PackView): ReadonlyArray<string> => {
  if (status._tag === "Failed") return [`${name}: ${status.reason}`]
  return status._tag === "Ready" ? status.warnings.map((warning) => `${name}: ${warning}`) : []
}

const packRows = ({ description, name, status }: PackView): ReadonlyArray<ReadonlyArray<Cell>> => {
  if (status._tag !== "Ready") {
    const reason = status._tag === "Failed" ? truncateLine(status.reason) : ""
    const state = { text: status._tag.toLowerCase(), colour: reason === "" ? "yellow" : "red" } as const
    return [[name, "-", state, reason || truncateLine(description)]]
  }
  return status.tools.map((tool) => {
    const route = status.routes.find((one) => one.tool === tool["name"])
    return [
      name,
      stringOrEmpty(tool["name"]),
      route === undefined ? "-" : `POST ${route.endpoint}`,
      truncateLine(stringOrEmpty(tool["description"]))
    ]
  })
}

/** Lists all packs and their tools, then fails when a pack is unusable. */
export const listPackTools = Effect.fnUntraced(function* (options: ListToolsOptions) {
  const folders = yield* foldersOrDefault(options.folders)
  const packs = yield* Effect.provide(
    PackHost.use(({ packs: all, rescan }) => Effect.andThen(rescan, all)),
    packHostFor(folders, options)
  )
  if (options.json) yield* printJson(packs)
  else if (packs.length === 0) yield* printError(`no packs in ${folders.join(", ")}`)
  else yield* printTable(formatColumns([["PACK", "TOOL", "ENDPOINT", ""], ...packs.flatMap(packRows)]))
  // The JSON has the problems of each pack.
  if (!options.json) for (const line of packs.flatMap(packProblems)) yield* printFailure(line)
  const broken = packs.filter(({ status }) => status._tag === "Failed").length
  if (broken > 0) return yield* failCommand(`${broken} of ${formatQuantity(packs.length, "pack")} cannot be used`)
})

/** Calls one tool in this process, without a server. */
export const callPackTool = Effect.fnUntraced(function* (options: CallToolOptions) {
  const { dir, timeout, tool } = options
  const given = yield* readArguments(options.words, options.args)
  const call = Effect.gen(function* () {
    const { changes, packs, rescan, session } = yield* PackHost
    const hasTool = ({ status }: PackView) => status._tag === "Ready" && status.tools.some(({ name }) => name === tool)
    const offered = Stream.runDrain(Stream.takeUntil(changes, (current) => current.some(hasTool)))
    // Other packs may load slowly, or never.
    yield* Effect.raceFirst(rescan, offered)
    const problems = (yield* packs).flatMap(packProblems)
    const { items } = yield* session.listTools()
    const names = items.map(({ name }) => stringOrEmpty(name))
    const found = items.find(({ name }) => name === tool)
    if (found === undefined) {
      return yield* Effect.mapError(
        failUnknownTool(tool, `in ${dir}`, names),
        (failure) => new CommandFailed({ ...failure, message: [failure.message, ...problems].join("\n") })
      )
    }
    const params = yield* toCallParams(given, { schema: asObject(found["inputSchema"]), subject: `The tool '${tool}'` })
    const { onProgress } = yield* makeCallProgress()
    return yield* Effect.mapError(
      session.callTool(tool, params, { onProgress }),
      ({ message }) => new CommandFailed({ message: [message, ...problems].join("\n") })
    )
  })
  const raw = yield* Effect.provide(call, packHostFor([dir], options, { timeout }))
  const result = yield* requireSuccess(
    parseToolResult(raw),
    (reason) => `The result of the tool is malformed: ${reason}`
  )
  yield* printToolResult(raw, result, options)
})
