import { Result } from "effect"
import { parse } from "yaml"
import { errorMessage } from "../../domain/errorMessage.ts"
import { parseJsonOrThrow } from "../../domain/json.ts"

/** In characters of JSON. Aliases can expand a short text. */
const maxExpandedLength = 256 * 1024

/** Parses YAML to a JSON value: without cycles, and without numbers that JSON lacks. Fails with the first line of the error. */
export const parseYamlValue = (text: string): Result.Result<unknown, string> =>
  Result.flatMap(
    Result.try({
      // Nested aliases expand exponentially.
      try: () => JSON.stringify(parse(text, { maxAliasCount: 100, logLevel: "error" }) ?? null),
      catch: (error) => errorMessage(error).split("\n", 1)[0] ?? "invalid YAML"
    }),
    (json) => (json.length > maxExpandedLength ? Result.fail("too large") : Result.succeed(parseJsonOrThrow(json)))
  )
