import { Result } from "effect"

/** Parses JSON. The error repeats nothing of the text, which may hold secrets. */
export const parseJsonResult = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => (error instanceof Error ? error.message.replace(/, (\.\.\.)?".*$/s, "") : "invalid")
  })
