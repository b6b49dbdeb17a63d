/**
 * The thread in which scripts run. It loads the engine, says so, and answers one question after the other; who asks
 * ends the thread when an answer does not come, or when the engine broke down.
 */
import { parentPort, workerData } from "node:worker_threads"
import type * as Verel from "@bpinternal/verel"
import { describeFailure, describeFaults, maxCharacters } from "./diagnostics.ts"

/** What the thread starts with: the engine's package, and how many bytes of JSON it may hand back. */
export interface Start {
  readonly module: string
  readonly maxEventBytes: number
}

/** A script to check, or to run over an event given as JSON. */
export interface Question {
  readonly script: string
  readonly event?: string
}

/**
 * What the thread says; `text` is for people, but for `done`.
 *
 * - `ready`: questions may come
 * - `missing`: the package is not there
 * - `done`: the script's faults, if any, or the event as JSON
 * - `failed`: the script is to blame
 * - `broken`: the engine is, and nothing it says from now on can be trusted
 */
export interface Answer {
  readonly outcome: "ready" | "missing" | "done" | "failed" | "broken"
  readonly text: string
}

type Engine = typeof Verel

const { maxEventBytes, module }: Start = workerData

const tell = (outcome: Answer["outcome"], text: string) =>
  parentPort?.postMessage({ outcome, text } satisfies Answer)

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** What the engine printed last. When it breaks down this is the place in its code, and then the reason. */
const lastWords = (): (() => string) => {
  let printed = ""
  Object.assign(console, { error: (text: unknown) => void (printed = String(text)) })
  return () => printed
}

const answer = (engine: Engine, { event, script }: Question) => {
  if (event === undefined) return tell("done", describeFaults(script, engine.check(script).errors))
  const text = JSON.stringify(engine.execute(script, JSON.parse(event)).event)
  if (Buffer.byteLength(text) <= maxEventBytes) return tell("done", text)
  return tell("failed", `the script makes the event larger than ${maxEventBytes} bytes`)
}

/** Tells a script's fault from a breakdown: only the two kinds named here leave the engine as it was. */
const explain = (engine: Engine, { script }: Question, cause: unknown, printed: string) => {
  const message = messageOf(cause)
  const [kind, ...rest] = message.split("\n")
  if (kind === "Termination;") return tell("failed", describeFailure(script, rest.join("\n")))
  if (kind === "Compilation Error;") {
    return tell("failed", describeFaults(script, engine.check(script).errors))
  }
  return tell("broken", (printed.split("\n")[1] ?? message).slice(0, maxCharacters))
}

const serve = (engine: Engine) => {
  const printed = lastWords()
  parentPort?.on("message", (question: Question) => {
    try {
      answer(engine, question)
    } catch (cause) {
      explain(engine, question, cause, printed())
    }
  })
  tell("ready", "")
}

try {
  serve(await import(module))
} catch (cause) {
  const missing = cause instanceof Error && "code" in cause && cause.code === "ERR_MODULE_NOT_FOUND"
  tell(missing ? "missing" : "broken", messageOf(cause).slice(0, maxCharacters))
}
