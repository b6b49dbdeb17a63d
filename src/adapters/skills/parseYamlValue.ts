import { Effect, Result } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import { parseJsonOrThrow } from "../../domain/json.ts"

/** In characters of JSON. Aliases can expand a short text. */
const maxExpandedLength = 256 * 1024

/** Parses YAML to a JSON value: without cycles, and without numbers that JSON lacks. Fails with the first line of the error. */
export const parseYamlValue = Effect.fnUntraced(function* (text: string): Effect.fn.Return<unknown, string> {
  // Loaded for the first skill: most Computers have none.
  const { parse } = yield* Effect.promise(() => import("yaml"))
  const parsed = Result.try({
    // Nested aliases expand exponentially.
    try: () => JSON.stringify(parse(text, { maxAliasCount: 100, logLevel: "error" }) ?? null),
    catch: (error) => errorMessage(error).split("\n", 1)[0] ?? "invalid YAML"
  })
  const json = yield* Effect.fromResult(parsed)
  return json.length > maxExpandedLength ? yield* Effect.fail("too large") : parseJsonOrThrow(json)
})
