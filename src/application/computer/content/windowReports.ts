import { Effect, Hash } from "effect"
import type { DesktopWarning } from "../../../domain/desktop/organizeDesktop.ts"

/** Windows whose reasons are remembered. Further ones are not logged: each desktop would log them again. */
const maxRemembered = 1000

/** In UTF-16 units. Windows that differ only beyond it count as one. */
const maxRememberedUri = 1024

const keyOf = ({ server, uri }: DesktopWarning): string => JSON.stringify([server, uri.slice(0, maxRememberedUri)])

const logWarning = ({ outcome, reason, server, uri }: DesktopWarning): Effect.Effect<void> => {
  const fields = { server, uri, reason }
  if (outcome === "shown") return Effect.logWarning("window truncated", fields)
  return outcome === "hidden" ? Effect.logInfo("window left out", fields) : Effect.logWarning("window left out", fields)
}

/** Makes a function that logs the warnings of a desktop, each window once per change of its reasons. */
export const makeWindowReports = () => {
  /** Hashes of the reasons of each window. */
  const remembered = new Map<string, number>()

  /** Reports the warnings of all windows, or those of the only one that was requested. */
  return Effect.fnUntraced(function* (warnings: ReadonlyArray<DesktopWarning>, requested: string | undefined) {
    const byWindow = Map.groupBy(warnings, keyOf)
    if (requested === undefined) {
      for (const key of remembered.keys()) if (!byWindow.has(key)) remembered.delete(key)
    }
    const changed = [...byWindow].flatMap(([key, reasons]) => {
      const hash = Hash.string(JSON.stringify(reasons.map(({ reason }) => reason)))
      if (remembered.get(key) === hash || (!remembered.has(key) && remembered.size >= maxRemembered)) return []
      remembered.set(key, hash)
      return reasons
    })
    yield* Effect.forEach(changed, logWarning, { discard: true })
  })
}
