import { Result } from "effect"
import type { Input } from "./computerConfig.ts"

/** What an input may hold; a value that fills a whole text of the configuration keeps its type (spec §8.5). */
export type InputValue = string | number | boolean

/** Prefix of every environment variable that answers an input (spec §8.5). */
const environmentPrefix = "A2C_SMCP_"

/** A name as shells allow it for a variable. */
const toVariableName = (name: string): string => name.replaceAll(/[^A-Z0-9_]/g, "_")

/**
 * The environment variables that may hold the value of an input, the most specific first:
 * `A2C_SMCP_TOKEN_GIT-HUB` before `A2C_SMCP_TOKEN` (spec §8.5). Where a name holds what shells do not allow, the same
 * name with underscores follows.
 */
export const inputEnvironmentNames = (id: string, server?: string): ReadonlyArray<string> => {
  const general = `${environmentPrefix}${id.toUpperCase()}`
  const names = server === undefined ? [general] : [`${general}_${server.toUpperCase()}`, general]
  return [...new Set(names.flatMap((name) => [name, toVariableName(name)]))]
}

/** The variable a person is told to set. */
export const inputVariableName = (id: string): string =>
  toVariableName(`${environmentPrefix}${id.toUpperCase()}`)

/** The value of an input that was given one: a pick must be among its options. */
export const validateInputValue = (input: Input, value: InputValue): Result.Result<InputValue, string> =>
  input.type === "pickString" && !input.options.some((option) => option === value)
    ? Result.fail(`not one of the options ${input.options.map((option) => `"${option}"`).join(", ")}`)
    : Result.succeed(value)

/** The default of an input, where it has one that counts. */
export const defaultInputValue = (input: Input): InputValue | undefined => {
  if (input.type === "command" || input.default === undefined) return undefined
  return Result.getOrUndefined(validateInputValue(input, input.default))
}
