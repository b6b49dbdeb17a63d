/**
 * The thread in which scripts run. It loads the engine, says so, and answers one question after the other; who asks
 * ends the thread when an answer does not come, or when the engine broke down.
 */
import { parentPort, workerData } from "node:worker_threads"
import type * as Verel from "@bpinternal/verel"
import { errorMessage } from "../../domain/errorMessage.ts"
import { formatRuntimeError, formatDiagnostics, maxMessageCharacters } from "./diagnostics.ts"

/** What the thread starts with: the engine's package, and how many bytes of JSON it may hand back. */
export interface WorkerData {
  readonly module: string
  readonly maxEventBytes: number
}

/** A script to check, or to run over an event given as JSON. */
export interface WorkerRequest {
  readonly script: string
  readonly event?: string
}

/**
 * What the thread says; `text` is for people, but for `done`.
 *
 * - `ready`: questions may come
 * - `not_installed`: the package is not there
 * - `done`: the script's faults, if any, or the event as JSON
 * - `failed`: the script is to blame
 * - `engine_failed`: the engine is, and nothing it says from now on can be trusted
 */
export interface WorkerResponse {
  readonly outcome: "ready" | "not_installed" | "done" | "failed" | "engine_failed"
  readonly text: string
}

type Engine = typeof Verel

const { maxEventBytes, module }: WorkerData = workerData

const post = (outcome: WorkerResponse["outcome"], text: string) =>
  parentPort?.postMessage({ outcome, text } satisfies WorkerResponse)

/** What the engine printed last. When it breaks down this is the place in its code, and then the reason. */
const captureConsoleError = (): (() => string) => {
  let printed = ""
  Object.assign(console, { error: (text: unknown) => void (printed = String(text)) })
  return () => printed
}

const handleRequest = (engine: Engine, { event, script }: WorkerRequest) => {
  if (event === undefined) return post("done", formatDiagnostics(script, engine.check(script).errors))
  const text = JSON.stringify(engine.execute(script, JSON.parse(event)).event)
  if (Buffer.byteLength(text) <= maxEventBytes) return post("done", text)
  return post("failed", `the script grew the event beyond ${maxEventBytes} bytes`)
}

/** Tells a script's fault from a breakdown: only the two kinds named here leave the engine as it was. */
const handleError = (engine: Engine, { script }: WorkerRequest, cause: unknown, printed: string) => {
  const message = errorMessage(cause)
  const [kind, ...rest] = message.split("\n")
  if (kind === "Termination;") return post("failed", formatRuntimeError(script, rest.join("\n")))
  if (kind === "Compilation Error;") {
    return post("failed", formatDiagnostics(script, engine.check(script).errors))
  }
  return post("engine_failed", (printed.split("\n")[1] ?? message).slice(0, maxMessageCharacters))
}

const serve = (engine: Engine) => {
  const printed = captureConsoleError()
  parentPort?.on("message", (request: WorkerRequest) => {
    try {
      handleRequest(engine, request)
    } catch (cause) {
      handleError(engine, request, cause, printed())
    }
  })
  post("ready", "")
}

try {
  serve(await import(module))
} catch (cause) {
  const missing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND"
  post(missing ? "not_installed" : "engine_failed", errorMessage(cause).slice(0, maxMessageCharacters))
}
