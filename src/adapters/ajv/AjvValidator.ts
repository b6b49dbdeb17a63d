import type { ErrorObject } from "ajv"
import { Effect, Layer } from "effect"
import { SchemaUnusable, SchemaValidator } from "../../application/ports/SchemaValidator.ts"
import { TookTooLong } from "./asking.ts"
import { type Check, makeCompiler, unusable } from "./compiler.ts"

/** So many faults are told at most; a model mends the first ones and tries again. */
const mostFaults = 10

const spell = ({ instancePath, keyword, message = "does not fit", params }: ErrorObject): string => {
  const where = instancePath === "" ? "the arguments" : instancePath
  switch (keyword) {
    case "additionalProperties":
      return `${where}: there is no argument "${String(params["additionalProperty"])}"`
    case "enum":
      return `${where}: ${message}: ${JSON.stringify(params["allowedValues"])}`
    default:
      return `${where}: ${message}`
  }
}

/** A validator that compiles each schema once, for as long as the schema is in use; one that takes too long is not. */
export const layer: Layer.Layer<SchemaValidator> = Layer.sync(SchemaValidator, () => {
  const compile = makeCompiler()
  const tooSlow = new WeakMap<Check, SchemaUnusable>()

  const faultsIn = (check: Check, value: unknown): ReadonlyArray<string> | SchemaUnusable => {
    try {
      return tooSlow.get(check) ?? check(value).slice(0, mostFaults).map(spell)
    } catch (error) {
      const failure = unusable(error)
      if (error instanceof TookTooLong) tooSlow.set(check, failure)
      return failure
    }
  }

  return SchemaValidator.of({
    check: (schema, value) =>
      Effect.suspend(() => {
        const check = compile(schema)
        const faults = check instanceof SchemaUnusable ? check : faultsIn(check, value)
        return faults instanceof SchemaUnusable ? Effect.fail(faults) : Effect.succeed(faults)
      })
  })
})
