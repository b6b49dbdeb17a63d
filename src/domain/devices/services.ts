import { Result, Schema } from "effect"
import { decoder } from "../explain.ts"
import { isJsonObject, type JsonObject } from "../json.ts"

/** What a device can do, as it registers it (seed 002 §3.2). */
export interface Service {
  readonly description: string
  /** A JSON Schema of an object: the parameters of a call. */
  readonly parameters: JsonObject
}

/** Longest name of a service, in characters. */
export const longestName = 128

/** How much is said about one bad definition, in characters: it may have thousands of faults, and long names. */
const longestFault = 200

/** The types of JSON Schema; the seed names all but `null` (seed 002 §5.1.1). */
const types = ["string", "number", "integer", "boolean", "array", "object", "null"] as const

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** The part of a parameter's definition that the seed describes (seed 002 §5.1); what else is there may be anything. */
const Parameter = Schema.Struct({
  type: Schema.optionalKey(Schema.Union([Schema.Literals(types), Schema.Array(Schema.Literals(types))])),
  description: Schema.optionalKey(Schema.String),
  enum: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  minimum: Schema.optionalKey(Schema.Finite),
  maximum: Schema.optionalKey(Schema.Finite),
  minLength: Schema.optionalKey(Count),
  maxLength: Schema.optionalKey(Count)
})

const Definition = Schema.Struct({
  description: Schema.optionalKey(Schema.NullOr(Schema.String)),
  parameters: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        type: Schema.optionalKey(Schema.Literal("object")),
        properties: Schema.optionalKey(
          Schema.Record(Schema.String, Schema.Union([Parameter, Schema.Boolean]))
        ),
        required: Schema.optionalKey(Schema.Array(Schema.String))
      })
    )
  )
})

const readDefinition = decoder(Definition)

const nameFault = (name: string): string | undefined => {
  if (name === "") return "its name is empty"
  return name.length > longestName ? `its name is longer than ${longestName} characters` : undefined
}

/** Reads the definition of one service, or says in one line what is wrong with it. Everything in it is kept. */
export const readService = (name: string, definition: unknown): Result.Result<Service, string> => {
  const fault = nameFault(name)
  if (fault !== undefined) return Result.fail(fault)
  return Result.map(readDefinition(definition), ({ description }) => {
    const parameters = isJsonObject(definition) ? definition["parameters"] : undefined
    return {
      description: description ?? "",
      parameters: { type: "object", properties: {}, ...(isJsonObject(parameters) && parameters) }
    }
  })
}

/** The services of a registration: those that can be used, and what is wrong with the others. */
export interface Services {
  readonly services: ReadonlyMap<string, Service>
  /** In words, each beginning with the name of its service, and short however bad it is. */
  readonly faults: ReadonlyArray<string>
}

/** Reads the services of a registration. A bad definition costs nobody but itself (seed 002 §6.1). */
export const readServices = (definitions: JsonObject, most: number): Services => {
  const services = new Map<string, Service>()
  const faults: Array<string> = []
  for (const [name, definition] of Object.entries(definitions)) {
    const read =
      services.size < most
        ? readService(name, definition)
        : Result.fail(`the device has ${most} services already`)
    if (Result.isSuccess(read)) services.set(name, read.success)
    else faults.push(`${JSON.stringify(name.slice(0, longestName))}: ${read.failure.slice(0, longestFault)}`)
  }
  return { services, faults }
}
