import { callPhases, durationOf, phaseOf } from "./callPhase.ts"
import type { PageCall } from "../PageEvent.ts"

/** True for a call that the filter shows; `now` in milliseconds of the epoch at the Server. */
type CallPredicate = (call: PageCall, now: number) => boolean

/** Fields of a call by the word that stands before the colon. */
const textFields: { readonly [field: string]: (call: PageCall) => string | undefined } = {
  tool: ({ tool }) => tool,
  computer: ({ computer }) => computer,
  agent: ({ agent }) => agent,
  subject: ({ subject }) => subject,
  event: ({ event }) => event,
  outcome: ({ outcome }) => outcome,
  node: ({ node }) => node,
  trace: ({ traceId }) => traceId,
  status: phaseOf
}

const unitMilliseconds: { readonly [unit: string]: number } = { "": 1, ms: 1, s: 1000, m: 60_000 }

const includesText = (text: string | undefined, searched: string): boolean =>
  text !== undefined && text.toLowerCase().includes(searched)

/** A parsed filter or a term of it, or the reason why it is invalid. */
type Parsed = CallPredicate | string

const parseDuration = (operator: string, value: string): Parsed => {
  const [, number = "", unit = ""] = /^(\d+(?:\.\d+)?)(ms|s|m)?$/.exec(value) ?? []
  const factor = unitMilliseconds[unit]
  if (number === "" || factor === undefined)
    return `duration must be a number with the unit ms, s or m, such as duration>100ms; found "${value}"`
  const bound = Number(number) * factor
  return (call, now) => (operator === ">" ? durationOf(call, now) > bound : durationOf(call, now) < bound)
}

const parseField = (field: string, value: string): Parsed => {
  if (field === "duration") return "duration needs > or <, such as duration>100ms"
  const read = Object.hasOwn(textFields, field) ? textFields[field] : undefined
  if (read === undefined)
    return `unknown field "${field}"; the fields are ${Object.keys(textFields).join(", ")}, duration`
  if (value === "") return `${field}: needs a value`
  if (field === "status" && !callPhases.some((phase) => phase === value))
    return `status must be one of ${callPhases.join(", ")}; found "${value}"`
  return (call) => includesText(read(call), value)
}

const parseText =
  (text: string): CallPredicate =>
  ({ agent, computer, event, tool }) =>
    [tool, computer, agent, event].some((one) => includesText(one, text))

const parseTerm = (term: string): Parsed => {
  const [, minus, operator, field, quoted, plain = ""] =
    /^(-(?=.))?(?:duration([<>])|([a-z]+):)?(?:"([^"]*)"|(.*))$/s.exec(term) ?? []
  const value = quoted ?? plain
  const parsed =
    operator !== undefined
      ? parseDuration(operator, value)
      : field === undefined
        ? parseText(value)
        : parseField(field, value)
  return minus === undefined || typeof parsed === "string" ? parsed : (call, now) => !parsed(call, now)
}

/**
 * Parses a filter such as `tool:read status:failed duration>100ms -agent:tester`. A call matches when all terms match.
 * Texts match a part, without regard to case; a text with spaces stands in double quotes. A word alone is searched in tool,
 * Computer, Agent and event.
 */
export const parseCallFilter = (text: string): Parsed => {
  const terms = text.toLowerCase().match(/(?:"[^"]*"|[^\s"]|"(?=[^"]*$))+/g) ?? []
  const parsed = terms.map(parseTerm)
  const message = parsed.find((one) => typeof one === "string")
  if (message !== undefined) return message
  const predicates = parsed.filter((one) => typeof one !== "string")
  return (call, now) => predicates.every((matches) => matches(call, now))
}
