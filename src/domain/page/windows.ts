import { parseRenderedWindow } from "../desktop/organizeDesktop.ts"

/** Splits rendered windows into URI and text, in their order. */
export const parseDesktop = (windows: ReadonlyArray<string>) => {
  const seen = new Map<string, number>()
  return windows.map((entry) => {
    const { text, uri } = parseRenderedWindow(entry)
    const count = (seen.get(uri) ?? 0) + 1
    seen.set(uri, count)
    return { key: count === 1 ? uri : `${uri} (${count})`, uri, text }
  })
}

/** A window of a desktop. `key` is its URI, with a number where several windows have the same URI. */
export type ShownWindow = ReturnType<typeof parseDesktop>[number]

/** True for a URI that claims the whole desktop of its MCP server. */
export const isFullscreenUri = (uri: string): boolean => /[?&]fullscreen=(?:true|1|yes|on)(?:&|$)/i.test(uri)

/** The keys of windows that are new or have another text than before. */
export const changedWindows = (before: ReadonlyArray<ShownWindow>, after: ReadonlyArray<ShownWindow>) => {
  const texts = new Map(before.map(({ key, text }) => [key, text]))
  return new Set(after.filter(({ key, text }) => texts.get(key) !== text).map(({ key }) => key))
}
