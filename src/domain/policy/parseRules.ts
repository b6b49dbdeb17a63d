import { Result, Schema, SchemaGetter } from "effect"
import { errorsFor, toValidationIssues, type ValidationIssue } from "../validation.ts"

/** Bounds of a policy: every call is compared with every rule. */
const maxRules = 1000
const maxPatterns = 100
const maxTextLength = 500

const isList = [Schema.isMinLength(1), Schema.isMaxLength(maxPatterns)] as const
const Text = Schema.NonEmptyString.check(Schema.isMaxLength(maxTextLength))

/** One text, or a list of them. */
const patterns = Schema.optional(Schema.ArrayEnsure(Text).check(...isList))
const hint = Schema.optional(Schema.Boolean)

const LiteralValue = Schema.Union([Schema.String, Schema.Finite, Schema.Boolean, Schema.Null])

/** A value that a test compares with. */
export type Literal = typeof LiteralValue.Type

const Test = Schema.Struct({
  equals: Schema.optional(LiteralValue),
  oneOf: Schema.optional(Schema.Array(LiteralValue).check(...isList)),
  /** Patterns in which `*` stands for any text. Only a text matches. */
  matches: patterns,
  /** Only a number meets the bounds. */
  atLeast: Schema.optional(Schema.Finite),
  atMost: Schema.optional(Schema.Finite),
  present: hint
})

/** Tests of one argument. All given ones must hold. An absent argument meets only `present: false`. */
export interface ArgumentTest extends Schema.Schema.Type<typeof Test> {}

const LiteralOrTest = Schema.Union([LiteralValue, Test]).pipe(
  Schema.decodeTo(Schema.toType(Test), {
    decode: SchemaGetter.transform((test: Literal | ArgumentTest) =>
      typeof test === "object" && test !== null ? test : { equals: test }
    ),
    encode: SchemaGetter.passthroughSubtype()
  })
)

const EncodedRule = Schema.Struct({
  action: Schema.Literals(["allow", "ask", "deny"]),
  reason: Schema.optional(Text),
  subject: patterns,
  office: patterns,
  computer: patterns,
  server: patterns,
  tool: patterns,
  annotations: Schema.optional(
    Schema.Struct({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint, openWorldHint: hint })
  ),
  /** Tests by the name of an argument, or by its JSON Pointer (RFC 6901) such as `/options/force`. */
  arguments: Schema.optional(Schema.Record(Text, LiteralOrTest))
})

/** A rule: its action applies to calls that meet all its conditions. One without conditions applies to every call. */
export interface Rule extends Schema.Schema.Type<typeof EncodedRule> {}

/** A file of rules. A misspelled condition would make a rule apply to more calls, so unknown members are errors. */
export const ParsedPolicy = Schema.Struct({ rules: Schema.Array(EncodedRule).check(Schema.isMaxLength(maxRules)) })

/** Parses a policy: `{"rules": [{action, subject?, office?, computer?, server?, tool?, annotations?, arguments?}]}`. */
export const parseRules = (value: unknown): Result.Result<ReadonlyArray<Rule>, ReadonlyArray<ValidationIssue>> =>
  Schema.decodeUnknownResult(ParsedPolicy, { errors: errorsFor(value), onExcessProperty: "error" })(value).pipe(
    Result.mapBoth({ onFailure: toValidationIssues, onSuccess: ({ rules }) => rules })
  )
