import { Effect } from "effect"
import { type FunctionsOptions, makeFunctionsWith } from "../../adapters/functions/makeFunctions.ts"
import { loadInterpreter } from "../../adapters/jsonSchema/JsonSchemaValidator.ts"
import { makePageParamsValidator } from "../../adapters/tools/ParamsValidator.ts"

/** `makeFunctions` without Node. */
export const makeWebFunctions = (functions: FunctionsOptions = {}) =>
  Effect.flatMap(loadInterpreter, (compile) =>
    makeFunctionsWith((schema) => makePageParamsValidator(schema, compile), functions)
  )
