/** Where in the parameters something is wrong, and what. */
export interface InvalidParam {
  /** Names and indices from the parameters down: `["address", "lines", 0]`. */
  readonly path: ReadonlyArray<string | number>
  readonly message: string
}

/**
 * Marks an {@link InvalidParams}. A pack may have a copy of this package of its own, whose classes are not ours, so
 * errors are recognised by this instead of by their class.
 */
export const invalidParamsSymbol: unique symbol = Symbol.for("a2c-smcp/tools/wrongParams")

/**
 * To throw, or to fail with, when the parameters fit their schema and are wrong all the same. Over HTTP it becomes an
 * answer 422, over MCP a result that a model can learn from.
 */
export class InvalidParams extends Error {
  override readonly name = "InvalidParams"
  readonly [invalidParamsSymbol]: ReadonlyArray<InvalidParam>

  /** `problems` says what is wrong where; without them `message` is said of the parameters as a whole. */
  constructor(message: string, problems: ReadonlyArray<InvalidParam> = [{ path: [], message }]) {
    super(message)
    this[invalidParamsSymbol] = problems
  }
}

/**
 * To throw, or to fail with, when a tool cannot do what it was asked. Whoever called reads the message, so it should
 * say what to do about it. Any other error does the same; its stack is never shown.
 */
export class ToolError extends Error {
  override readonly name = "ToolError"
}
