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

/** The code of an error of the system or of Node, such as `ENOENT`. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined
