import { Result } from "effect"

/** Reads JSON, or says what is wrong with it without repeating any of it: it may hold secrets. */
export const parseJson = (text: string): Result.Result<unknown, string> =>
  Result.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => (error instanceof Error ? error.message.replace(/, (\.\.\.)?".*$/s, "") : "unreadable")
  })
