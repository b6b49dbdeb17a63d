/** The message of an error, the messages of an AggregateError's parts, or any other thrown value as text. */
export const errorMessage = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(errorMessage))].join("; ")
  }
  if (error instanceof Error) return error.message === "" ? error.name : error.message
  try {
    return String(error)
  } catch {
    return "unknown error"
  }
}
