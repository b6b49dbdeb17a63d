import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec"
import { Effect, Predicate, Result, Schema, SchemaIssue } from "effect"
import { SchemaUnusable } from "../../application/ports/SchemaValidator.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { ParamsProblem } from "../../domain/packs/offer.ts"
import { fillDefaults } from "../../domain/packs/params.ts"
import { keywordProblems, type StandardIssue, standardProblems } from "../../domain/packs/problems.ts"
import type { Compiled } from "../ajv/compiler.ts"
import { fileSchema, isToolFile } from "./author/ToolFile.ts"
import { settle } from "./settle.ts"
import { wordsOf } from "./thrown.ts"

/** The parameters of a tool: how others see them, and what checks them. */
export interface Parameters {
  /** JSON Schema, an object. */
  readonly schema: JsonObject
  /** What the schema makes of arguments, files among them; fails with everything that is wrong. */
  readonly check: (args: JsonObject) => Effect.Effect<unknown, ReadonlyArray<ParamsProblem>>
  /** What is odd about them. */
  readonly warnings: ReadonlyArray<string>
}

/** Compiles a JSON Schema. */
export type Compile = (schema: JsonObject) => Compiled

const issuesIn = SchemaIssue.makeFormatterStandardSchemaV1()

/** Something is wrong with the parameters, but not with a certain one. */
const overall = (msg: string): ReadonlyArray<ParamsProblem> => [{ loc: ["body"], msg, type: "value_error" }]

/** Adds what some libraries leave out of a file: that it would be a text. */
const markFiles = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(markFiles)
  if (!isJsonObject(node)) return node
  const marked = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, markFiles(value)]))
  return marked["format"] === fileSchema.format && marked["type"] === undefined
    ? { type: fileSchema.type, ...marked }
    : marked
}

/** What a reference at the very top stands for: MCP wants to see an object there. */
const dereference = (schema: JsonObject): JsonObject => {
  const { $ref, ...rest } = schema
  const name = typeof $ref === "string" ? /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1] : undefined
  const definitions = schema["$defs"]
  const target =
    name === undefined || !isJsonObject(definitions)
      ? undefined
      : definitions[decodeURIComponent(name).replaceAll("~1", "/").replaceAll("~0", "~")]
  return isJsonObject(target) ? { ...target, ...rest } : schema
}

/** The schema as everybody sees it, or why it is none of an object. */
const present = (declared: JsonObject): Result.Result<JsonObject, string> => {
  const { $schema: _draft, ...top } = dereference(declared)
  const marked = markFiles(top)
  const schema = isJsonObject(marked) ? marked : top
  const type = schema["type"] ?? "object"
  return type === "object"
    ? Result.succeed({ ...schema, type })
    : Result.fail(`the parameters have to be an object, not ${JSON.stringify(type)}`)
}

/** What it needs besides to be decoded cannot be seen, and would not be there. */
const isEffectSchema = (value: unknown): value is Schema.ConstraintDecoder<unknown> => Schema.isSchema(value)

const fromEffect = (params: Schema.ConstraintDecoder<unknown>): Result.Result<Parameters, string> =>
  Result.gen(function* () {
    const { decode, document } = yield* Result.try({
      try: () => ({
        document: Schema.toJsonSchemaDocument(params),
        decode: Schema.decodeUnknownEffect(Schema.toCodecJson(params), { errors: "all" })
      }),
      catch: wordsOf
    })
    const { definitions, schema } = document
    const $defs = Object.keys(definitions).length === 0 ? {} : { $defs: definitions }
    return {
      schema: yield* present({ ...schema, ...$defs }),
      check: (args) =>
        decode(args).pipe(
          Effect.mapError(({ issue }) => standardProblems(issuesIn(issue).issues, args)),
          // Transformations of a stranger's schema may throw.
          Effect.catchDefect((defect) => Effect.fail(overall(wordsOf(defect))))
        ),
      warnings: []
    }
  })

const isStandard = (value: unknown): value is StandardSchemaV1 & Partial<StandardJSONSchemaV1> =>
  Predicate.hasProperty(value, "~standard") &&
  Predicate.hasProperty(value["~standard"], "validate") &&
  typeof value["~standard"].validate === "function"

const isIssue = (value: unknown): value is StandardIssue =>
  Predicate.hasProperty(value, "message") && typeof value.message === "string"

/** What a validator gave, which is a stranger's. */
const readValidation = (
  outcome: unknown,
  args: JsonObject
): Effect.Effect<unknown, ReadonlyArray<ParamsProblem>> => {
  const issues = Predicate.hasProperty(outcome, "issues") ? outcome.issues : undefined
  if (Array.isArray(issues)) {
    return Effect.fail(standardProblems(issues.filter(isIssue), args))
  }
  return Effect.succeed(Predicate.hasProperty(outcome, "value") ? outcome.value : undefined)
}

const fromStandard = (
  params: StandardSchemaV1 & Partial<StandardJSONSchemaV1>,
  listed: JsonObject | undefined
): Result.Result<Parameters, string> =>
  Result.gen(function* () {
    const { jsonSchema, validate, vendor } = params["~standard"]
    const unknown = [
      `the schemas of ${vendor} do not say what they are in JSON Schema: give the tool an inputSchema in listTools()`
    ]
    const options = { target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } } as const
    const declared = yield* jsonSchema === undefined
      ? Result.succeed(listed ?? {})
      : Result.try({ try: (): JsonObject => jsonSchema.input(options), catch: wordsOf })
    return {
      schema: yield* present(declared),
      check: (args) =>
        settle(
          (code) => code(),
          () => validate(args)
        ).pipe(
          Effect.mapError(({ value }) => overall(wordsOf(value))),
          Effect.flatMap((outcome) => readValidation(outcome, args))
        ),
      warnings: jsonSchema === undefined && listed === undefined ? unknown : []
    }
  })

/** Files stand as their names where JSON is judged: a name is a text, and there is one for each. */
const nameFiles = (value: unknown): unknown => {
  if (isToolFile(value)) return value.filename
  return Array.isArray(value) ? value.map(nameFiles) : value
}

const fromJsonSchema = (declared: JsonObject, compile: Compile): Result.Result<Parameters, string> =>
  Result.gen(function* () {
    const schema = yield* present(declared)
    // What is checked is what was declared: the draft that it names counts.
    const faults = compile({ ...declared, type: "object" })
    if (faults instanceof SchemaUnusable) return yield* Result.fail(faults.message)
    return {
      schema,
      check: (args) =>
        Effect.suspend(() => {
          const filled = fillDefaults(schema, args)
          const judged = Object.fromEntries(
            Object.entries(filled).map(([name, value]) => [name, nameFiles(value)])
          )
          const problems = Result.try({
            try: () => keywordProblems(faults(judged), judged),
            catch: (error) => overall(wordsOf(error))
          }).pipe(Result.merge)
          return problems.length === 0 ? Effect.succeed<unknown>(filled) : Effect.fail(problems)
        }),
      warnings: []
    }
  })

/**
 * Understands parameters in any form that packs may give them in, or says in words why it cannot. `listed` is the JSON
 * Schema of the tool that uses them, which counts for libraries that have none to give.
 */
export const readParameters = (
  params: unknown,
  compile: Compile,
  listed?: JsonObject
): Result.Result<Parameters, string> => {
  if (isEffectSchema(params)) return fromEffect(params)
  if (isStandard(params)) return fromStandard(params, listed)
  if (isJsonObject(params)) return fromJsonSchema(params, compile)
  return Result.fail("the parameters are no Effect Schema, no Standard Schema (as of zod) and no JSON Schema")
}
