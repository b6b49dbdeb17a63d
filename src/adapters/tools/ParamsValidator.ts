import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec"
import { Effect, Predicate, Record, Result, Schema, SchemaIssue } from "effect"
import { type CompileSchema, InvalidSchema } from "../../application/ports/SchemaValidator.ts"
import { asObject, isJsonObject, type JsonObject } from "../../domain/json.ts"
import { type ParamsProblem, paramsProblem } from "../../domain/packs/PackManifest.ts"
import { fillDefaults } from "../../domain/packs/params/coerceParams.ts"
import { type FileParams, fileParamsOf, unescapePointerSegment } from "../../domain/schemas/jsonSchema.ts"
import { errorsFor } from "../../domain/validation.ts"
import {
  problemsFromViolations,
  problemsFromStandardIssues,
  type StandardIssue
} from "../../domain/packs/params/paramsProblems.ts"
import { fileParamSchema, isToolFile } from "../packs/author/ToolFile.ts"
import { enterDirectly, runPackCode, thrownMessage } from "./runPackCode.ts"

export interface ParamsValidator {
  /** JSON Schema of an object. */
  readonly schema: JsonObject
  readonly files: FileParams
  /** Decodes arguments, including files; fails with all problems. */
  readonly check: (params: JsonObject) => Effect.Effect<unknown, ReadonlyArray<ParamsProblem>>
  readonly warning?: string
}

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1()

const generalProblem = (thrown: unknown): ReadonlyArray<ParamsProblem> => [paramsProblem(thrownMessage(thrown))]

/** Adds `type: "string"` to file schemas, which some libraries omit. */
const addFileTypes = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(addFileTypes)
  if (!isJsonObject(node)) return node
  const marked = Record.map(node, addFileTypes)
  return marked["format"] === fileParamSchema.format && marked["type"] === undefined
    ? { type: fileParamSchema.type, ...marked }
    : marked
}

/** Inlines a top-level reference: MCP requires an object there. */
const resolveTopLevelRef = (schema: JsonObject): JsonObject => {
  const { $ref, ...rest } = schema
  const name = typeof $ref === "string" ? /^#\/\$defs\/([^/]+)$/.exec($ref)?.[1] : undefined
  const target =
    name === undefined ? undefined : asObject(schema["$defs"])[unescapePointerSegment(decodeURIComponent(name))]
  return isJsonObject(target) ? { ...target, ...rest } : schema
}

/** The schema of parameters, and the files among them. */
const normalizeSchema = (declared: JsonObject): Result.Result<Pick<ParamsValidator, "schema" | "files">, string> => {
  const { $schema: _draft, ...top } = resolveTopLevelRef(declared)
  const marked = asObject(addFileTypes(top))
  const type = marked["type"] ?? "object"
  if (type !== "object") return Result.fail(`the parameters must be an object, not ${JSON.stringify(type)}`)
  const schema = { ...marked, type }
  return Result.succeed({ schema, files: fileParamsOf(schema) })
}

/** Requirements of a decoder are unknown and cannot be provided. */
const isEffectSchema = (value: unknown): value is Schema.ConstraintDecoder<unknown> => Schema.isSchema(value)

const validatorFromEffectSchema = (params: Schema.ConstraintDecoder<unknown>): Result.Result<ParamsValidator, string> =>
  Result.gen(function* () {
    const { decode, document } = yield* Result.try({
      try: () => ({
        document: Schema.toJsonSchemaDocument(params),
        decode: Schema.decodeUnknownEffect(Schema.toCodecJson(params))
      }),
      catch: thrownMessage
    })
    const { definitions, schema } = document
    const $defs = Object.keys(definitions).length === 0 ? {} : { $defs: definitions }
    return {
      ...(yield* normalizeSchema({ ...schema, ...$defs })),
      check: (params) =>
        decode(params, { errors: errorsFor(params) }).pipe(
          Effect.mapError(({ issue }) => problemsFromStandardIssues(formatIssues(issue).issues, params)),
          // Transformations of a foreign schema can throw.
          Effect.catchDefect((defect) => Effect.fail(generalProblem(defect)))
        )
    }
  })

const isStandardSchema = (value: unknown): value is StandardSchemaV1 & Partial<StandardJSONSchemaV1> =>
  Predicate.hasProperty(value, "~standard") &&
  Predicate.hasProperty(value["~standard"], "validate") &&
  typeof value["~standard"].validate === "function"

const isIssue = (value: unknown): value is StandardIssue =>
  Predicate.hasProperty(value, "message") && typeof value.message === "string"

const validatorFromStandardSchema = (
  params: StandardSchemaV1 & Partial<StandardJSONSchemaV1>,
  listedSchema: JsonObject | undefined
): Result.Result<ParamsValidator, string> =>
  Result.gen(function* () {
    const { jsonSchema, validate, vendor } = params["~standard"]
    const warning = `schemas of ${vendor} have no JSON Schema: give the tool an inputSchema in listTools()`
    const options = { target: "draft-2020-12", libraryOptions: { unrepresentable: "any" } } as const
    const declared = yield* jsonSchema === undefined
      ? Result.succeed(listedSchema ?? {})
      : Result.try({ try: (): JsonObject => jsonSchema.input(options), catch: thrownMessage })
    return {
      ...(yield* normalizeSchema(declared)),
      check: Effect.fnUntraced(function* (params) {
        const validation = runPackCode(enterDirectly, () => validate(params))
        const outcome = yield* Effect.mapError(validation, ({ value }) => generalProblem(value))
        const issues = Predicate.hasProperty(outcome, "issues") ? outcome.issues : undefined
        if (Array.isArray(issues)) return yield* Effect.fail(problemsFromStandardIssues(issues.filter(isIssue), params))
        return Predicate.hasProperty(outcome, "value") ? outcome.value : undefined
      }),
      ...(jsonSchema === undefined && listedSchema === undefined && { warning })
    }
  })

/** Replaces files by their names, so a JSON Schema sees strings. */
const replaceFilesByName = (value: unknown): unknown => {
  if (isToolFile(value)) return value.filename
  return Array.isArray(value) ? value.map(replaceFilesByName) : value
}

const validatorFromJsonSchema = (
  declared: JsonObject,
  compile: CompileSchema
): Result.Result<ParamsValidator, string> =>
  Result.gen(function* () {
    const described = yield* normalizeSchema(declared)
    // Compiled as declared, so its `$schema` draft applies.
    const validate = compile({ ...declared, type: "object" })
    if (validate instanceof InvalidSchema) return yield* Result.fail(validate.message)
    return {
      ...described,
      check: (params) =>
        Effect.suspend(() => {
          const filled = fillDefaults(described.schema, params)
          const jsonArgs = Record.map(filled, replaceFilesByName)
          const problems = Result.merge(
            Result.try({ try: () => problemsFromViolations(validate(jsonArgs), jsonArgs), catch: generalProblem })
          )
          return problems.length === 0 ? Effect.succeed<unknown>(filled) : Effect.fail(problems)
        })
    }
  })

const convertedSchema = "Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema))"

/** Makes a validator like {@link makeParamsValidator}, without the large code that describes an Effect Schema. */
export const makePageParamsValidator = (
  params: unknown,
  compile: CompileSchema,
  listedSchema?: JsonObject
): Result.Result<ParamsValidator, string> => {
  if (isStandardSchema(params)) return validatorFromStandardSchema(params, listedSchema)
  if (isEffectSchema(params)) return Result.fail(`pass ${convertedSchema} instead of an Effect Schema`)
  if (isJsonObject(params)) return validatorFromJsonSchema(params, compile)
  return Result.fail("the parameters must be an Effect Schema, a Standard Schema (such as zod) or a JSON Schema")
}

/**
 * Makes a validator from parameters of any supported kind, or says why they are unsupported. `listedSchema` is the
 * JSON Schema of the listed tool, for libraries without JSON Schema.
 */
export const makeParamsValidator: typeof makePageParamsValidator = (params, ...others) =>
  isEffectSchema(params) ? validatorFromEffectSchema(params) : makePageParamsValidator(params, ...others)
