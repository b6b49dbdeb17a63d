import { Result } from "effect"
import type { Input } from "./computerConfig.ts"

/** The value of an input. It keeps its type where the placeholder is the whole string (spec §8.5). */
export type InputValue = string | number | boolean

const environmentPrefix = "A2C_SMCP_"

const toVariableName = (name: string): string => name.replaceAll(/[^A-Z0-9_]/g, "_")

/**
 * The environment variables for an input, the most specific first: `A2C_SMCP_TOKEN_GIT-HUB` before `A2C_SMCP_TOKEN`
 * (spec §8.5). A name with characters that shells forbid is followed by the name with underscores.
 */
export const inputEnvironmentNames = (id: string, server?: string): ReadonlyArray<string> => {
  const general = `${environmentPrefix}${id.toUpperCase()}`
  const names = server === undefined ? [general] : [`${general}_${server.toUpperCase()}`, general]
  return [...new Set(names.flatMap((name) => [name, toVariableName(name)]))]
}

/** The environment variable to suggest in messages. */
export const inputVariableName = (id: string): string => toVariableName(`${environmentPrefix}${id.toUpperCase()}`)

/** Checks the value of an input: a pick must be one of the options. */
export const validateInputValue = (input: Input, value: InputValue): Result.Result<InputValue, string> =>
  input.type === "pickString" && !input.options.some((option) => option === value)
    ? Result.fail(`not one of the options ${input.options.map((option) => `"${option}"`).join(", ")}`)
    : Result.succeed(value)

/** The default of an input; `undefined` without a valid one. */
export const defaultInputValue = (input: Input): InputValue | undefined => {
  if (input.type === "command" || input.default === undefined) return undefined
  return Result.getOrUndefined(validateInputValue(input, input.default))
}
