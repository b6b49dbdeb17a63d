import { Effect } from "effect"
import { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackTable.ts"
import { stringOrEmpty } from "../../../domain/json.ts"
import { failCommand } from "../../CommandFailed.ts"
import { formatColumns, truncateLine } from "../output/format.ts"
import { print, printError, printFailure, printJson } from "../output/print.ts"
import type { ListToolsOptions } from "./flags.ts"
import { foldersOrDefault, packHostFor, packProblems } from "./packHostFor.ts"
import { formatQuantity } from "../../../application/shared/formatQuantity.ts"

const packRows = ({ description, name, status }: PackView): ReadonlyArray<ReadonlyArray<string>> => {
  if (status._tag !== "Ready") {
    const reason = status._tag === "Failed" ? truncateLine(status.reason) : ""
    return [[name, "-", status._tag.toLowerCase(), reason || truncateLine(description)]]
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
  else yield* print(formatColumns([["PACK", "TOOL", "ENDPOINT", ""], ...packs.flatMap(packRows)]))
  // The JSON has the problems of each pack.
  if (!options.json) for (const line of packs.flatMap(packProblems)) yield* printFailure(line)
  const broken = packs.filter(({ status }) => status._tag === "Failed").length
  if (broken > 0) return yield* failCommand(`${broken} of ${formatQuantity(packs.length, "pack")} cannot be used`)
})
