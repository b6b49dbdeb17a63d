import { dirname, join, resolve } from "node:path"
import { Config, type Duration, Effect, Layer } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackView.ts"
import { toCommandFailed } from "../CommandFailed.ts"
import { packHostLayer } from "../../layers/computerLayer.ts"

/** What all commands about packs say of how these are run. */
export interface PackRuntimeOptions {
  readonly install: boolean
  readonly allowScripts: boolean
  readonly isolate: boolean
  /** MiB of an isolated pack. */
  readonly memory: number
}

/** The folder of extensions that the seed looks into beside the usual one. */
const extensionsFolder = "AutoUp-MCP-Extension"

/** Where packs are looked for: the folders themselves, and the extensions beside each. */
const searchFolders = (folders: ReadonlyArray<string>): ReadonlyArray<string> => {
  const all = folders.map((folder) => resolve(folder))
  return [...new Set([...all, ...all.map((folder) => join(dirname(folder), extensionsFolder))])]
}

/** The folders that were named, or the one that is looked into when none was. */
export const foldersOrDefault = (folders: ReadonlyArray<string>) =>
  folders.length > 0
    ? Effect.succeed(folders)
    : Config.String("TOOLS_DIR").pipe(
        Config.withDefault("src"),
        Effect.map((folder) => [folder]),
        Effect.mapError(toCommandFailed)
      )

/** A host of the packs in these folders, which has looked for them once. */
export const packHostFor = (
  folders: ReadonlyArray<string>,
  { allowScripts, install, isolate, memory }: PackRuntimeOptions,
  { timeout, watch = false }: { readonly timeout?: Duration.Duration; readonly watch?: boolean } = {}
): Layer.Layer<PackHost> =>
  packHostLayer({
    folders: searchFolders(folders),
    watch,
    isolate,
    memory,
    install,
    allowScripts,
    ...(timeout !== undefined && { limits: { timeout } })
  }).pipe(
    Layer.tap((context) =>
      Effect.provideContext(
        Effect.flatMap(PackHost, ({ rescan }) => rescan),
        context
      )
    )
  )

/** What is wrong with a pack, or odd about it, a line each. */
export const packProblems = ({ name, status }: PackView): ReadonlyArray<string> => {
  if (status._tag === "Failed") return [`${name}: ${status.reason}`]
  return status._tag === "Ready" ? status.warnings.map((warning) => `${name}: ${warning}`) : []
}
