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
  trace: ({ traceId }) => traceId
}

/** The words that a filter understands, for help and errors. */
const filterFields: ReadonlyArray<string> = [...Object.keys(textFields), "status", "duration"]

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
  if (value === "") return `${field}: needs a value`
  if (field === "status") {
    const phase = callPhases.find((one) => one === value)
    if (phase === undefined) return `status must be one of ${callPhases.join(", ")}; found "${value}"`
    return (call) => phaseOf(call) === phase
  }
  if (field === "duration") return "duration needs > or <, such as duration>100ms"
  const read = Object.hasOwn(textFields, field) ? textFields[field] : undefined
  if (read === undefined) return `unknown field "${field}"; the fields are ${filterFields.join(", ")}`
  return (call) => includesText(read(call), value)
}

const parseTerm = (term: string): Parsed => {
  const [, operator, bound] = /^duration([<>])(.*)$/s.exec(term) ?? []
  if (operator !== undefined && bound !== undefined) return parseDuration(operator, bound)
  const [, field, quoted, plain] = /^([a-z]+):(?:"([^"]*)"|(.*))$/s.exec(term) ?? []
  if (field !== undefined) return parseField(field, quoted ?? plain ?? "")
  const text = term.replace(/^"([^"]*)"$/s, "$1")
  return ({ agent, computer, event, tool }) => [tool, computer, agent, event].some((one) => includesText(one, text))
}

/** A minus negates a term. */
const parseSignedTerm = (term: string): Parsed => {
  if (!term.startsWith("-") || term.length === 1) return parseTerm(term)
  const negated = parseTerm(term.slice(1))
  return typeof negated === "string" ? negated : (call, now) => !negated(call, now)
}

/**
 * Parses a filter such as `tool:read status:failed duration>100ms -agent:tester`. A call matches when all terms match.
 * Texts match a part, without regard to case; a text with spaces stands in double quotes. A word alone is searched in tool,
 * Computer, Agent and event.
 */
export const parseCallFilter = (text: string): Parsed => {
  const terms = text.toLowerCase().match(/(?:"[^"]*"|[^\s"]|"(?=[^"]*$))+/g) ?? []
  const parsed = terms.map(parseSignedTerm)
  const message = parsed.find((one) => typeof one === "string")
  if (message !== undefined) return message
  const predicates = parsed.filter((one) => typeof one !== "string")
  return (call, now) => predicates.every((matches) => matches(call, now))
}
