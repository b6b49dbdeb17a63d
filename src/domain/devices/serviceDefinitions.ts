import { Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { isJsonObject, type JsonObject } from "../json.ts"
import { fieldWithDefault } from "../model/fields.ts"

/** A service as a device registers it (seed 002 §3.2). */
export interface DeviceService {
  readonly description: string
  /** JSON Schema of the parameters, an object. */
  readonly parameters: JsonObject
}

/** In characters. */
export const maxNameLength = 128

/** Longest error about one definition, in characters: a definition can have thousands of errors and long names. */
const maxErrorLength = 200

/** Types of JSON Schema; the seed names all except `null` (seed 002 §5.1.1). */
const jsonSchemaTypes = ["string", "number", "integer", "boolean", "array", "object", "null"] as const

/** The part of a parameter definition that the seed describes (seed 002 §5.1); other keywords are not checked. */
const ParameterDefinition = Schema.Struct({
  type: Schema.optionalKey(
    Schema.Union([Schema.Literals(jsonSchemaTypes), Schema.Array(Schema.Literals(jsonSchemaTypes))])
  ),
  description: Schema.optionalKey(Schema.String),
  enum: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  minLength: Schema.optionalKey(Schema.Natural),
  maxLength: Schema.optionalKey(Schema.Natural)
})

const ServiceDefinition = Schema.Struct({
  description: fieldWithDefault(Schema.String, () => ""),
  parameters: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        type: Schema.optionalKey(Schema.Literal("object")),
        properties: Schema.optionalKey(
          Schema.Record(Schema.String, Schema.Union([ParameterDefinition, Schema.Boolean]))
        ),
        required: Schema.optionalKey(Schema.Array(Schema.String))
      })
    )
  )
})

const decodeDefinition = makeDecoder(ServiceDefinition)

/** Decodes the definition of one service and keeps all of its members, or says in one line why it is invalid. */
export const decodeService = (name: string, definition: unknown): Result.Result<DeviceService, string> => {
  if (name === "") return Result.fail("its name is empty")
  if (name.length > maxNameLength) return Result.fail(`its name is longer than ${maxNameLength} characters`)
  return Result.map(decodeDefinition(definition), ({ description }) => {
    const parameters = isJsonObject(definition) ? definition["parameters"] : undefined
    return {
      description,
      parameters: { type: "object", properties: {}, ...(isJsonObject(parameters) && parameters) }
    }
  })
}

/**
 * Decodes the services of a registration. An invalid definition affects no other service (seed 002 §6.1). Errors have one
 * line per invalid service, starting with its name, of bounded length.
 */
export const decodeServices = (definitions: JsonObject, maxServices: number) => {
  const services = new Map<string, DeviceService>()
  const errors: Array<string> = []
  for (const [name, definition] of Object.entries(definitions)) {
    const decoded =
      services.size < maxServices
        ? decodeService(name, definition)
        : Result.fail(`the device already has ${maxServices} services`)
    if (Result.isSuccess(decoded)) services.set(name, decoded.success)
    else errors.push(`${JSON.stringify(name.slice(0, maxNameLength))}: ${decoded.failure.slice(0, maxErrorLength)}`)
  }
  return { services, errors }
}
