import type { ErrorObject } from "ajv"
import { Effect, Layer } from "effect"
import { SchemaUnusable, SchemaValidator } from "../../application/ports/SchemaValidator.ts"
import { makeCompiler, unusable } from "./compiler.ts"

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

/** A validator that compiles each schema once, for as long as the schema is in use. */
export const layer: Layer.Layer<SchemaValidator> = Layer.sync(SchemaValidator, () => {
  const compile = makeCompiler()
  return SchemaValidator.of({
    check: (schema, value) =>
      Effect.suspend(() => {
        const known = compile(schema)
        if (known instanceof SchemaUnusable) return Effect.fail(known)
        return Effect.try({
          // A schema that refers to itself without end fails only here.
          try: () => (known(value) ? [] : (known.errors ?? []).slice(0, mostFaults).map(spell)),
          catch: unusable
        })
      })
  })
})
