import { Result } from "effect"
import type { Input, ServerConfig } from "./computerConfig.ts"

/** The value of an input. It keeps its type where the placeholder is the whole string (spec §8.5). */
export type InputValue = string | number | boolean

const environmentPrefix = "A2C_SMCP_"

const toVariableName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_]/g, "_")

/** The server that an input is resolved for. */
export type InputUser = Pick<ServerConfig, "name" | "bundleId">

/**
 * The environment variables for an input, the most specific first: `A2C_SMCP_TOKEN_GIT-HUB` before `A2C_SMCP_TOKEN`
 * (spec §8.5). Each is followed by its form without characters that shells forbid. Names of later protocol lines, which
 * keep the case and have the bundle id, come after those of 0.2.
 */
export const inputEnvironmentNames = (id: string, server?: InputUser): ReadonlyArray<string> => {
  const [upper, exact] = [`${environmentPrefix}${id.toUpperCase()}`, toVariableName(`${environmentPrefix}${id}`)]
  const specific =
    server === undefined ? [] : [`${upper}_${server.name.toUpperCase()}`, `${exact}_${toVariableName(server.bundleId)}`]
  return [...new Set([...specific, upper, exact].flatMap((name) => [name, toVariableName(name)]))]
}

/** The environment variable to suggest in messages. */
export const inputVariableName = (id: string): string => toVariableName(`${environmentPrefix}${id.toUpperCase()}`)

/** Checks the value of an input: a pick must be one of the options. */
export const validateInputValue = (input: Input, value: InputValue): Result.Result<InputValue, string> =>
  input.type === "pickString" && !input.options.some((option) => option.value === value)
    ? Result.fail(`not one of the options ${input.options.map((option) => `"${option.value}"`).join(", ")}`)
    : Result.succeed(value)

/** The default of an input; `undefined` without a valid one. */
export const defaultInputValue = (input: Input): InputValue | undefined => {
  if (input.type === "command" || input.default === undefined) return undefined
  return Result.getOrUndefined(validateInputValue(input, input.default))
}
