import { Result } from "effect"
import type { Input } from "../protocol/v0_2/config.ts"

/** Prefix of every environment variable that answers an input (spec §8.5). */
const environmentPrefix = "A2C_SMCP_"

/**
 * The environment variables that may hold the value of an input, the most specific first:
 * `A2C_SMCP_TOKEN_GITHUB` before `A2C_SMCP_TOKEN` (spec §8.5).
 */
export const environmentNames = (id: string, server?: string): ReadonlyArray<string> => {
  const general = `${environmentPrefix}${id.toUpperCase()}`
  return server === undefined ? [general] : [`${general}_${server.toUpperCase()}`, general]
}

/** The value of an input that was given a text: a pick must be one of its options. */
export const acceptInput = (input: Input, text: string): Result.Result<string, string> =>
  input.type === "pickString" && !input.options.includes(text)
    ? Result.fail(`not one of the options ${input.options.map((option) => `"${option}"`).join(", ")}`)
    : Result.succeed(text)

/** The default of an input, where it has one that counts. */
export const defaultOf = (input: Input): string | undefined => {
  if (input.type === "command" || input.default === undefined) return undefined
  return Result.getOrUndefined(acceptInput(input, input.default))
}
