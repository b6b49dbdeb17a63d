export interface InvalidParam {
  /** Path from the parameters down: `["address", "lines", 0]`. */
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/**
 * Marks an {@link InvalidParams}. A pack can have its own copy of this package, so `instanceof` does not recognize
 * errors.
 */
export const invalidParamsSymbol: unique symbol = Symbol.for("a2c-smcp/tools/wrongParams")

/**
 * Parameters match their schema but are invalid. Throw it, or fail an Effect with it: HTTP clients get status 422, MCP
 * clients an error result.
 */
export class InvalidParams extends Error {
  override readonly name = "InvalidParams"
  readonly [invalidParamsSymbol]: ReadonlyArray<InvalidParam>

  /** `problems` locates the errors; by default, `message` describes the parameters as a whole. */
  constructor(message: string, problems: ReadonlyArray<InvalidParam> = [{ path: [], message }]) {
    super(message)
    this[invalidParamsSymbol] = problems
  }
}

/**
 * A tool failed. Throw it, or fail an Effect with it; the caller reads the message, so say what to do next. Any other
 * error has the same effect; stacks are never sent.
 */
export class ToolError extends Error {
  override readonly name = "ToolError"
}
