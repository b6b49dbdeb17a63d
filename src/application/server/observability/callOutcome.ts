import { Result } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { decodeProtocolError } from "../../../domain/wire/lines.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import type { CompletedCall } from "./observers.ts"

const knownCodes: ReadonlySet<number> = new Set(Object.values(errorCodes))

/** A code as a label. Codes outside of the protocol become `other`, because labels must be few. */
export const codeLabel = (code: number): string => (knownCodes.has(code) ? String(code) : "other")

/**
 * The outcome of a call: `ok`, `tool_error` for a tool that ran and failed, or the label of its error code. A large
 * reply whose head is not parsed counts as `ok`: the parse would cost more than the routing.
 */
export const callOutcome = ({ outcome }: Pick<CompletedCall, "outcome">): string => {
  if ("_tag" in outcome) return codeLabel(outcome.code)
  if (!outcome.isHeadParsed) return "ok"
  const head = Result.getOrElse(outcome.head, () => undefined)
  if (!isJsonObject(head)) return "other"
  if (head["isError"] === true) return "tool_error"
  const error = decodeProtocolError(head)
  return error === undefined ? "ok" : codeLabel(error.code)
}
