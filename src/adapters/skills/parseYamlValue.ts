import { Effect } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import { parseJsonOrThrow } from "../../domain/json.ts"

/** In characters of JSON. Aliases can expand a short text. */
const maxExpandedLength = 256 * 1024

/** Parses YAML to a JSON value: without cycles, and without numbers that JSON lacks. Fails with the first line of the error. */
export const parseYamlValue = (text: string): Effect.Effect<unknown, string> =>
  // Loaded for the first skill: most Computers have none.
  Effect.promise(() => import("yaml")).pipe(
    Effect.flatMap(({ parse }) =>
      Effect.try({
        // Nested aliases expand exponentially.
        try: () => JSON.stringify(parse(text, { maxAliasCount: 100, logLevel: "error" }) ?? null),
        catch: (error) => errorMessage(error).split("\n", 1)[0] ?? "invalid YAML"
      })
    ),
    Effect.flatMap((json) =>
      json.length > maxExpandedLength ? Effect.fail("too large") : Effect.succeed(parseJsonOrThrow(json))
    )
  )
