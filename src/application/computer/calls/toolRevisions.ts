import { Equal } from "effect"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"

/** A tool beyond this number gets another revision at its next call, and needs consent again. */
const maxTools = 1000

/**
 * Numbers the definitions of tools. A tool keeps its revision until its definition, its name at the server or the server's
 * endpoint changes. A revision is never used again, not even for the same definition.
 */
export const makeToolRevisions = () => {
  const tools = new Map<string, { readonly definition: unknown; readonly revision: number }>()
  let last = 0
  return ({ originalName, server, tool }: CatalogueEntry, config: ServerConfig | undefined): number => {
    const key = JSON.stringify([server, tool.name])
    const definition = { originalName, tool, type: config?.type, parameters: config?.parameters }
    const known = tools.get(key)
    if (known !== undefined && Equal.equals(known.definition, definition)) return known.revision
    last += 1
    // Deleted first: the entry moves to the end, and the first one is the oldest.
    tools.delete(key)
    tools.set(key, { definition, revision: last })
    const [oldest] = tools.keys()
    if (tools.size > maxTools && oldest !== undefined) tools.delete(oldest)
    return last
  }
}
