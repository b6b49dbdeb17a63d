import type { JsonObject } from "../json.ts"
import { jsonMemberAt, unescapePointerSegment } from "../schemas/jsonSchema.ts"
import { listToolNames, type ToolNames } from "../tools/naming.ts"
import { matchesPattern, matchesToolPattern } from "../wildcard.ts"
import type { ArgumentTest, Rule } from "./parseRules.ts"
import { type PolicyCall, type TestedAnnotation, testedAnnotations } from "./Rule.ts"

/** The value of an argument by its name or JSON Pointer; `undefined` when it is absent. */
const argumentOf = (params: JsonObject, argument: string): unknown =>
  argument.startsWith("/")
    ? argument.slice(1).split("/").map(unescapePointerSegment).reduce<unknown>(jsonMemberAt, params)
    : jsonMemberAt(params, argument)

const meetsTest = (value: unknown, test: ArgumentTest): boolean => {
  if (value === undefined) return test.present === false
  const { atLeast, atMost, equals, matches, oneOf, present } = test
  return (
    present !== false &&
    (equals === undefined || value === equals) &&
    (oneOf === undefined || oneOf.some((literal) => literal === value)) &&
    (matches === undefined ||
      (typeof value === "string" && matches.some((pattern) => matchesPattern(pattern, value)))) &&
    (atLeast === undefined || (typeof value === "number" && value >= atLeast)) &&
    (atMost === undefined || (typeof value === "number" && value <= atMost))
  )
}

/** The value of an annotation, with the defaults of MCP. A tool that only reads destroys nothing. */
const annotationOf = (annotations: JsonObject | undefined, name: TestedAnnotation): boolean => {
  const stated = annotations?.[name]
  if (name === "destructiveHint" && annotations?.["readOnlyHint"] === true) return false
  if (typeof stated === "boolean") return stated
  return name === "destructiveHint" || name === "openWorldHint"
}

/** True when a pattern matches a tool by any of its names; `server/tool` patterns match with the server. */
export const matchesTool = (patterns: ReadonlyArray<string>, call: Pick<PolicyCall, "server" | keyof ToolNames>) =>
  matchesToolPattern(patterns, call.server, call.tool) ||
  // On the path of every call, and mostly the same name.
  ((call.shortName !== call.tool || call.originalName !== call.tool) &&
    listToolNames(call).some((name) => matchesToolPattern(patterns, call.server, name)))

/** True when a pattern matches a whole name of a tool that has a slash: a rule that asks or denies may mean it. */
const matchesNameWithSlash = (patterns: ReadonlyArray<string>, call: ToolNames): boolean =>
  listToolNames(call).some((name) => name.includes("/") && patterns.some((pattern) => matchesPattern(pattern, name)))

/** True when a text meets given patterns; an absent text meets none. */
const meetsPatterns = (patterns: ReadonlyArray<string> | undefined, text: string | undefined): boolean =>
  patterns === undefined || (text !== undefined && patterns.some((pattern) => matchesPattern(pattern, text)))

/**
 * Finds the first condition of a rule that a call does not meet: `tool`, `annotations.readOnlyHint`, `arguments.path`.
 * Gives `undefined` when the rule applies. Reads members by their names: every call is compared with many rules.
 */
export const findMismatch = (rule: Rule, call: PolicyCall): string | undefined => {
  if (!meetsPatterns(rule.subject, call.subject)) return "subject"
  if (!meetsPatterns(rule.office, call.office)) return "office"
  if (!meetsPatterns(rule.computer, call.computer)) return "computer"
  if (!meetsPatterns(rule.server, call.server)) return "server"
  if (
    rule.tool !== undefined &&
    !matchesTool(rule.tool, call) &&
    // A server that one does not trust may name its tool as that of another server.
    (rule.action === "allow" || !matchesNameWithSlash(rule.tool, call))
  )
    return "tool"
  if (rule.annotations !== undefined) {
    for (const name of testedAnnotations) {
      const wanted = rule.annotations[name]
      if (wanted !== undefined && annotationOf(call.annotations, name) !== wanted) return `annotations.${name}`
    }
  }
  const { arguments: tests } = rule
  if (tests === undefined) return undefined
  for (const argument of Object.keys(tests)) {
    const test = tests[argument]
    if (test === undefined || !meetsTest(argumentOf(call.params, argument), test)) return `arguments.${argument}`
  }
  return undefined
}
