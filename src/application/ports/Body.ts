import { Result } from "effect"
import { checkJsonBody, isJsonObject } from "../../domain/json.ts"
import { badRequest, internalError, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"

/**
 * One JSON value in transit between two peers. Routing reads the `head` and forwards the body unchanged; handlers read
 * the complete `value`. Both fail with the error for the sender when the sender's value is unusable.
 */
export interface Body {
  /**
   * The value as far as routing needs it. Scalar members of the outermost object are complete; nested objects and
   * arrays may be empty placeholders of the same kind.
   */
  readonly head: Result.Result<unknown, ProtocolError>
  /** False when reading the head costs a parse. */
  readonly isHeadParsed: boolean
  /** True for a JSON object. Costs no parse, so the text may still be malformed. */
  readonly isObject: boolean
  /** The complete value. May cost a parse. */
  readonly value: () => Result.Result<unknown, ProtocolError>
  /** The value as JSON text. May cost a serialization, once. */
  readonly text: () => Result.Result<string, ProtocolError>
  /** Length of the JSON text in bytes; 0 for an unusable body. May cost a serialization. */
  readonly byteLength: () => number
}

class JsonBody implements Body {
  readonly head: Result.Result<unknown, ProtocolError>
  readonly isHeadParsed = true
  readonly isObject: boolean
  #text: Result.Result<string, ProtocolError> | undefined
  constructor(head: Body["head"]) {
    this.head = head
    this.isObject = Result.isSuccess(head) && isJsonObject(head.success)
  }
  value(): Result.Result<unknown, ProtocolError> {
    return this.head
  }
  text(): Result.Result<string, ProtocolError> {
    this.#text ??= Result.flatMap(this.head, (value) =>
      Result.try({
        try: () => JSON.stringify(value) ?? "null",
        catch: () => internalError("The message cannot be written as JSON")
      })
    )
    return this.#text
  }
  byteLength(): number {
    return Result.match(this.text(), { onFailure: () => 0, onSuccess: (text) => encodeUtf8(text).length })
  }
}

/** A body of a value that this process made. */
export const jsonBody = (value: unknown): Body => new JsonBody(Result.succeed(value))

/** An unusable body, with the error for its sender. */
export const invalidBody = (error: ProtocolError): Body => new JsonBody(Result.fail(error))

/** A body of a value that a peer sent. Binary data and excessive nesting make it unusable. */
export const receivedBody = (value: unknown): Body => {
  const problem = checkJsonBody(value)
  return problem === undefined ? jsonBody(value) : invalidBody(badRequest(`Bad message: ${problem}`))
}

type Decoder<A> = (wire: unknown) => Result.Result<A, string>

/** Decodes a complete body; the error is for the sender. */
export const decodeBody = <A>(body: Body, decode: Decoder<A>): Result.Result<A, ProtocolError> =>
  Result.flatMap(body.value(), (value) => Result.mapError(decode(value), badRequest))

/** Decodes the head of a body as {@link decodeBody} decodes all of it. */
export const decodeHead = <A>(body: Body, decode: Decoder<A>): Result.Result<A, ProtocolError> =>
  Result.flatMap(body.head, (value) => Result.mapError(decode(value), badRequest))
