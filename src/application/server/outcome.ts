import { Result } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { readRefusal } from "../../domain/protocol/v0_2/acks.ts"
import { codes } from "../../domain/refusal.ts"
import type { EndedCall } from "./CallObservers.ts"

const known: ReadonlySet<number> = new Set(Object.values(codes))

/** A code as a label: peers may answer with any number, and labels must be few. */
export const labelOf = (code: number): string => (known.has(code) ? String(code) : "other")

/**
 * How a call ended, in one word of few: `ok`, `tool_error` for a tool that ran and failed, else the code of the
 * protocol, or `other` where there is no such code. Large answers that nobody has read count as `ok`: reading them
 * would cost more than passing them on.
 */
export const outcomeOf = ({ outcome }: Pick<EndedCall, "outcome">): string => {
  if ("_tag" in outcome) return labelOf(outcome.code)
  if (!outcome.isRead) return "ok"
  const head = Result.getOrElse(outcome.head, () => undefined)
  if (!isJsonObject(head)) return "other"
  if (head["isError"] === true) return "tool_error"
  const refusal = readRefusal(head)
  return refusal === undefined ? "ok" : labelOf(refusal.code)
}
