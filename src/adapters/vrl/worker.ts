/** Worker thread that runs scripts. The main thread terminates it after a timeout or a crash. */
import { parentPort, workerData } from "node:worker_threads"
import type * as Verel from "@bpinternal/verel"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"
import { parseJsonOrThrow } from "../../domain/json.ts"

const maxReportedErrors = 5

/** Limit for one message in characters; some quote the event. */
const maxMessageCharacters = 500

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Converts a byte offset. Lines and columns start at 1; columns count characters. */
const positionOf = (script: string, index: number): string => {
  const lines = decoder.decode(encoder.encode(script).subarray(0, index)).split("\n")
  return `line ${lines.length}, column ${[...(lines.at(-1) ?? "")].length + 1}`
}

const formatDiagnostic = (script: string, { labels, message, notes }: Verel.CompilationDiagnostic): string => {
  const cause = labels.find(({ primary }) => primary) ?? labels[0]
  const place = cause === undefined ? [] : [positionOf(script, cause.span[0])]
  const details = [...labels, ...notes].map((detail) => detail.message).filter((text) => text !== "")
  return [...place, message, ...(details.length > 0 ? [details.join("; ")] : [])]
    .join(": ")
    .slice(0, maxMessageCharacters)
}

/** Formats the errors of a script, one per line; empty for a valid script. */
const formatDiagnostics = (script: string, diagnostics: ReadonlyArray<Verel.CompilationDiagnostic>): string => {
  const lines = diagnostics.slice(0, maxReportedErrors).map((diagnostic) => formatDiagnostic(script, diagnostic))
  const rest = diagnostics.length - lines.length
  return [...lines, ...(rest > 0 ? [`and ${rest} more`] : [])].join("\n")
}

/** Formats a runtime error. The engine gives positions as byte offsets, `at (12:20)`. */
const formatRuntimeError = (script: string, message: string): string =>
  message
    .replace(
      /^(function call error for "\w+") at \((\d+):\d+\)/,
      (_, what: string, index: string) => `${positionOf(script, Number(index))}: ${what}`
    )
    .slice(0, maxMessageCharacters)

export interface VrlWorkerData {
  readonly module: string
  readonly maxEventBytes: number
}

/** A script to check, or to run on an event given as JSON. */
export interface VrlWorkerRequest {
  readonly script: string
  readonly event?: string
}

/**
 * A response; `text` is a message for people, except for `done`.
 *
 * - `ready`: the engine is loaded
 * - `not_installed`: the package is missing
 * - `done`: the errors of a checked script, or the event as JSON
 * - `failed`: the script failed
 * - `engine_failed`: the engine crashed and is unusable
 */
export interface VrlWorkerResponse {
  readonly outcome: "ready" | "not_installed" | "done" | "failed" | "engine_failed"
  readonly text: string
}

const { maxEventBytes, module }: VrlWorkerData = workerData

const post = (outcome: VrlWorkerResponse["outcome"], text: string) =>
  parentPort?.postMessage({ outcome, text } satisfies VrlWorkerResponse)

const handleRequest = (engine: typeof Verel, { event, script }: VrlWorkerRequest) => {
  if (event === undefined) return post("done", formatDiagnostics(script, engine.check(script).errors))
  const text = JSON.stringify(engine.execute(script, parseJsonOrThrow(event)).event)
  if (Buffer.byteLength(text) <= maxEventBytes) return post("done", text)
  return post("failed", `the script grew the event beyond ${maxEventBytes} bytes`)
}

/** Tells a failed script from a crash. Only the two kinds below leave the engine intact. */
const handleError = (engine: typeof Verel, { script }: VrlWorkerRequest, cause: unknown, printed: string) => {
  const message = errorMessage(cause)
  const [kind, ...rest] = message.split("\n")
  if (kind === "Termination;") return post("failed", formatRuntimeError(script, rest.join("\n")))
  if (kind === "Compilation Error;") return post("failed", formatDiagnostics(script, engine.check(script).errors))
  return post("engine_failed", (printed.split("\n")[1] ?? message).slice(0, maxMessageCharacters))
}

const serve = (engine: typeof Verel) => {
  /** Last output of the engine: after a crash the position in its code, then the reason. */
  let printed = ""
  Object.assign(console, { error: (text: unknown) => void (printed = String(text)) })
  parentPort?.on("message", (request: VrlWorkerRequest) => {
    try {
      handleRequest(engine, request)
    } catch (cause) {
      handleError(engine, request, cause, printed)
    }
  })
  post("ready", "")
}

try {
  serve(await import(module))
} catch (cause) {
  const missing = systemErrorCode(cause) === "ERR_MODULE_NOT_FOUND"
  post(missing ? "not_installed" : "engine_failed", errorMessage(cause).slice(0, maxMessageCharacters))
}
