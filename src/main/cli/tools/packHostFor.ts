import { dirname, join, resolve } from "node:path"
import { Config, type Duration, Effect, type Layer } from "effect"
import type { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackTable.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { packHostLayer } from "../../layers/packHostLayer.ts"
import { defaultFolder, type PackRuntimeOptions } from "./flags.ts"

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
  { allowScripts, install, isolate, memory }: PackRuntimeOptions,
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
    ...definedOnly({ limits: timeout && { timeout } })
  })
}

/** The errors and warnings of a pack, one line each. */
export const packProblems = ({ name, status }: PackView): ReadonlyArray<string> => {
  if (status._tag === "Failed") return [`${name}: ${status.reason}`]
  return status._tag === "Ready" ? status.warnings.map((warning) => `${name}: ${warning}`) : []
}
