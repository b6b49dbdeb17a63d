import { Effect, Result } from "effect"
import { parseJsonOrThrow } from "../../domain/json.ts"
import type { LogFields, ToolLogger } from "../packs/author/BaseMcpTool.ts"

export interface ToolLogLine {
  readonly level: "Debug" | "Info" | "Warn" | "Error"
  readonly message: string
  /** Plain JSON data. */
  readonly fields: LogFields
}

export type ToolLog = (line: ToolLogLine) => void

/** In characters. */
const maxMessageLength = 16_384

/** Writes log lines of tools to the host's log, with fields that name their owner. */
export const makeToolLog = (owner: LogFields): Effect.Effect<ToolLog> =>
  Effect.map(Effect.context<never>(), (context) => ({ fields, level, message }) => {
    const line = Effect.logWithLevel(level)(message)
    Effect.runSyncWith(context)(Effect.annotateLogs(line, { ...fields, ...owner }))
  })

/** Converts fields to plain data and omits what JSON cannot represent. */
const serializeFields = (fields: unknown): LogFields => {
  const value = Result.getOrUndefined(Result.try(() => parseJsonOrThrow(JSON.stringify(fields))))
  return typeof value === "object" && value !== null ? { ...value } : {}
}

export const makeToolLogger = (log: ToolLog): ToolLogger => {
  const write = (level: ToolLogLine["level"]) => (message: unknown, fields?: LogFields) =>
    log({ level, message: String(message).slice(0, maxMessageLength), fields: serializeFields(fields) })
  return { debug: write("Debug"), info: write("Info"), warn: write("Warn"), error: write("Error") }
}
