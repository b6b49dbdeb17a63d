import { Result, Schema } from "effect"
import { definedOnly } from "../objects.ts"
import { errorsFor, toValidationIssues, type ValidationIssue } from "../validation.ts"
import { type ArgumentTest, patternConditions, type Rule } from "./Rule.ts"

/** Bounds of a policy: every call is compared with every rule. */
const maxRules = 1000
const maxPatterns = 100
const maxTextLength = 500

const Text = Schema.NonEmptyString.check(Schema.isMaxLength(maxTextLength))

/** One text, or a list of them. */
const Texts = Schema.Union([
  Text,
  Schema.Array(Text).check(Schema.isMinLength(1)).check(Schema.isMaxLength(maxPatterns))
])

const LiteralValue = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

const Tests = Schema.Struct({
  equals: Schema.optionalKey(LiteralValue),
  oneOf: Schema.optionalKey(
    Schema.Array(LiteralValue).check(Schema.isMinLength(1)).check(Schema.isMaxLength(maxPatterns))
  ),
  matches: Schema.optionalKey(Texts),
  atLeast: Schema.optionalKey(Schema.Finite),
  atMost: Schema.optionalKey(Schema.Finite),
  present: Schema.optionalKey(Schema.Boolean)
})

const OptionalTexts = Schema.optionalKey(Texts)
const OptionalBoolean = Schema.optionalKey(Schema.Boolean)

const EncodedRule = Schema.Struct({
  action: Schema.Literals(["allow", "ask", "deny"]),
  reason: Schema.optionalKey(Text),
  subject: OptionalTexts,
  office: OptionalTexts,
  computer: OptionalTexts,
  server: OptionalTexts,
  tool: OptionalTexts,
  annotations: Schema.optionalKey(
    Schema.Struct({
      readOnlyHint: OptionalBoolean,
      destructiveHint: OptionalBoolean,
      idempotentHint: OptionalBoolean,
      openWorldHint: OptionalBoolean
    })
  ),
  arguments: Schema.optionalKey(Schema.Record(Text, Schema.Union([LiteralValue, Tests])))
})

/** A file of rules. A misspelled condition would make a rule apply to more calls, so unknown members are errors. */
export const ParsedPolicy = Schema.Struct({ rules: Schema.Array(EncodedRule).check(Schema.isMaxLength(maxRules)) })

const decodePolicy = (value: unknown) =>
  Schema.decodeUnknownResult(ParsedPolicy, { errors: errorsFor(value), onExcessProperty: "error" })(value)

const listOf = (texts: typeof Texts.Type): ReadonlyArray<string> => (typeof texts === "string" ? [texts] : texts)

const toTest = (test: typeof LiteralValue.Type | typeof Tests.Type): ArgumentTest => {
  if (typeof test !== "object" || test === null) return { equals: test }
  const { matches, ...others } = test
  return matches === undefined ? others : { ...others, matches: listOf(matches) }
}

const toRule = ({ annotations, arguments: tests, ...rule }: typeof EncodedRule.Type): Rule => {
  const patterns = patternConditions.map((name) => [name, rule[name] && listOf(rule[name])] as const)
  return {
    action: rule.action,
    ...definedOnly({ reason: rule.reason, annotations }),
    ...definedOnly(Object.fromEntries(patterns)),
    ...(tests !== undefined && {
      arguments: Object.fromEntries(Object.entries(tests).map(([argument, test]) => [argument, toTest(test)]))
    })
  }
}

/** Parses a policy: `{"rules": [{action, subject?, office?, computer?, server?, tool?, annotations?, arguments?}]}`. */
export const parseRules = (value: unknown): Result.Result<ReadonlyArray<Rule>, ReadonlyArray<ValidationIssue>> =>
  Result.mapBoth(decodePolicy(value), {
    onFailure: toValidationIssues,
    onSuccess: ({ rules }) => rules.map(toRule)
  })
