import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { SkillFileError, SkillFiles } from "../../application/ports/files/SkillFiles.ts"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { isSkillFolder } from "../../domain/skills/skillPaths.ts"
import { watchFolders } from "../folders/watchFolders.ts"
import { fileOperation, openSkillFile, resolveInside } from "./openSkillFile.ts"
import { parseYamlValue } from "./parseYamlValue.ts"
import { makeStage } from "./stageFiles.ts"

/** Entries that hold no skills: their changes lead to no scan. */
const isIgnored = (name: string): boolean => name === "node_modules" || name === ".git"

const listFolders = async (folder: string): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    if (systemErrorCode(error) === "ENOENT") return []
    throw error
  })
  const names: Array<string> = []
  for (const entry of entries) {
    if (!isSkillFolder(entry.name)) continue
    // A link can be broken.
    const found = entry.isSymbolicLink() ? await stat(join(folder, entry.name)).catch(() => undefined) : entry
    if (found?.isDirectory()) names.push(entry.name)
  }
  return names.toSorted()
}

const resolveFolder = async (root: string, below: string): Promise<string> => {
  const { path } = await resolveInside(root, below)
  if (!(await stat(path)).isDirectory()) {
    throw new SkillFileError({ reason: "not_found", message: `${path} is not a folder` })
  }
  return path
}

export interface NodeSkillFilesOptions {
  /** Where the skills of MCP servers are staged; the folder for temporary files by default. */
  readonly stagingParent?: string | undefined
}

/** The file system of this host. Staged skills are removed with the layer. */
export const layer = ({ stagingParent }: NodeSkillFilesOptions = {}): Layer.Layer<SkillFiles> =>
  Layer.effect(
    SkillFiles,
    Effect.map(makeStage(stagingParent), (stage) =>
      SkillFiles.of({
        listFolders: (folder) => fileOperation(() => listFolders(folder)),
        resolveFolder: (root, path) => fileOperation(() => resolveFolder(root, path)),
        open: openSkillFile,
        stage,
        watch: (folders) => watchFolders(folders, isIgnored),
        parseYaml: parseYamlValue
      })
    )
  )
