import { Result, Schema } from "effect"
import { makeDecoder } from "../validation.ts"
import { isJsonObject, type JsonObject } from "../json.ts"

/** What a device can do, as it registers it (seed 002 §3.2). */
export interface DeviceService {
  readonly description: string
  /** A JSON Schema of an object: the parameters of a call. */
  readonly parameters: JsonObject
}

/** Longest name of a service, in characters. */
export const maxNameLength = 128

/** How much is said about one bad definition, in characters: it may have thousands of faults, and long names. */
const maxErrorLength = 200

/** The types of JSON Schema; the seed names all but `null` (seed 002 §5.1.1). */
const jsonSchemaTypes = ["string", "number", "integer", "boolean", "array", "object", "null"] as const

const NonNegativeInt = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The part of a parameter's definition that the seed describes (seed 002 §5.1); what else is there may be anything. */
const ParameterDefinition = Schema.Struct({
  type: Schema.optionalKey(
    Schema.Union([Schema.Literals(jsonSchemaTypes), Schema.Array(Schema.Literals(jsonSchemaTypes))])
  ),
  description: Schema.optionalKey(Schema.String),
  enum: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  minLength: Schema.optionalKey(NonNegativeInt),
  maxLength: Schema.optionalKey(NonNegativeInt)
})

const ServiceDefinition = Schema.Struct({
  description: Schema.optionalKey(Schema.NullOr(Schema.String)),
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

const nameError = (name: string): string | undefined => {
  if (name === "") return "its name is empty"
  return name.length > maxNameLength ? `its name is longer than ${maxNameLength} characters` : undefined
}

/** Reads the definition of one service, or says in one line what is wrong with it. Everything in it is kept. */
export const decodeService = (name: string, definition: unknown): Result.Result<DeviceService, string> => {
  const error = nameError(name)
  if (error !== undefined) return Result.fail(error)
  return Result.map(decodeDefinition(definition), ({ description }) => {
    const parameters = isJsonObject(definition) ? definition["parameters"] : undefined
    return {
      description: description ?? "",
      parameters: { type: "object", properties: {}, ...(isJsonObject(parameters) && parameters) }
    }
  })
}

/** The services of a registration: those that can be used, and what is wrong with the others. */
export interface DecodedServices {
  readonly services: ReadonlyMap<string, DeviceService>
  /** In words, each beginning with the name of its service, and short however bad it is. */
  readonly errors: ReadonlyArray<string>
}

/** Reads the services of a registration. A bad definition costs nobody but itself (seed 002 §6.1). */
export const decodeServices = (definitions: JsonObject, maxServices: number): DecodedServices => {
  const services = new Map<string, DeviceService>()
  const errors: Array<string> = []
  for (const [name, definition] of Object.entries(definitions)) {
    const decoded =
      services.size < maxServices
        ? decodeService(name, definition)
        : Result.fail(`the device has ${maxServices} services already`)
    if (Result.isSuccess(decoded)) services.set(name, decoded.success)
    else
      errors.push(
        `${JSON.stringify(name.slice(0, maxNameLength))}: ${decoded.failure.slice(0, maxErrorLength)}`
      )
  }
  return { services, errors }
}
