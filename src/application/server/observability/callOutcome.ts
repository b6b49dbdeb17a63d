import { Result } from "effect"
import { isJsonObject } from "../../../domain/json.ts"
import { decodeProtocolError } from "../../../domain/wire/lines.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import type { CompletedCall } from "./observers.ts"

const knownCodes: ReadonlySet<number> = new Set(Object.values(errorCodes))

/** A code as a label: peers may answer with any number, and labels must be few. */
export const codeLabel = (code: number): string => (knownCodes.has(code) ? String(code) : "other")

/**
 * How a call ended, in one word of few: `ok`, `tool_error` for a tool that ran and failed, else the code of the
 * protocol, or `other` where there is no such code. Large answers that nobody has read count as `ok`: reading them
 * would cost more than passing them on.
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
