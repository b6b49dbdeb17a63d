import type { CompilationDiagnostic } from "@bpinternal/verel"

const maxReportedErrors = 5

/** Limit for one message in characters; some quote the event. */
export const maxMessageCharacters = 500

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Converts a byte offset. Lines and columns start at 1; columns count characters. */
const positionOf = (script: string, index: number): string => {
  const lines = decoder.decode(encoder.encode(script).subarray(0, index)).split("\n")
  return `line ${lines.length}, column ${[...(lines.at(-1) ?? "")].length + 1}`
}

const formatDiagnostic = (script: string, { labels, message, notes }: CompilationDiagnostic): string => {
  const cause = labels.find(({ primary }) => primary) ?? labels[0]
  const place = cause === undefined ? [] : [positionOf(script, cause.span[0])]
  const details = [...labels, ...notes].map((detail) => detail.message).filter((text) => text !== "")
  return [...place, message, ...(details.length > 0 ? [details.join("; ")] : [])]
    .join(": ")
    .slice(0, maxMessageCharacters)
}

/** Formats the errors of a script, one per line; empty for a valid script. */
export const formatDiagnostics = (script: string, diagnostics: ReadonlyArray<CompilationDiagnostic>): string => {
  const lines = diagnostics.slice(0, maxReportedErrors).map((diagnostic) => formatDiagnostic(script, diagnostic))
  const rest = diagnostics.length - lines.length
  return [...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n")
}

/** Formats a runtime error. The engine gives positions as byte offsets, `at (12:20)`. */
export const formatRuntimeError = (script: string, message: string): string =>
  message
    .replace(
      /^(function call error for "\w+") at \((\d+):\d+\)/,
      (_, what: string, index: string) => `${positionOf(script, Number(index))}: ${what}`
    )
    .slice(0, maxMessageCharacters)
