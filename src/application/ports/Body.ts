import { Result } from "effect"
import { checkJsonBody, isJsonObject } from "../../domain/json.ts"
import { badRequest, internalError, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"

/**
 * One JSON value on its way between two peers. Whoever only routes reads the `head` and passes the body on as it
 * came; whoever must understand it takes the `whole`. When the peer sent nothing that can be used, both fail with
 * what the peer is to be told.
 */
export interface Body {
  /**
   * The value as far as routing needs it: scalar members of the outermost object are complete; objects and arrays
   * inside may be empty stand-ins of the same kind.
   */
  readonly head: Result.Result<unknown, ProtocolError>
  /** Is the head at hand? Where it is not, looking at it costs a parse. */
  readonly isHeadParsed: boolean
  /** Is it a JSON object, as far as can be seen without a parse? */
  readonly isObject: boolean
  /** The complete value. May cost a parse. */
  readonly value: () => Result.Result<unknown, ProtocolError>
  /** The value as JSON text. May cost a serialization, once. */
  readonly text: () => Result.Result<string, ProtocolError>
  /** Length of the JSON text in bytes; 0 where there is none. May cost a serialization. */
  readonly byteLength: () => number
}

class JsonBody implements Body {
  readonly head: Result.Result<unknown, ProtocolError>
  readonly isHeadParsed = true
  readonly isObject: boolean
  #text: Result.Result<string, ProtocolError> | undefined
  constructor(value: unknown) {
    this.head = Result.succeed(value)
    this.isObject = isJsonObject(value)
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
    return Result.match(this.text(), {
      onFailure: () => 0,
      onSuccess: (text) => encodeUtf8(text).length
    })
  }
}

/** A body of a value we made ourselves. */
export const jsonBody = (value: unknown): Body => new JsonBody(value)

/** A body that cannot be used, and what its sender is told. */
export const invalidBody = (error: ProtocolError): Body => {
  const failure = Result.fail(error)
  return {
    head: failure,
    isHeadParsed: true,
    isObject: false,
    value: () => failure,
    text: () => failure,
    byteLength: () => 0
  }
}

/** A body of a value that a peer sent: binary, hostile nesting and the like make it a faulty one. */
export const receivedBody = (value: unknown): Body => {
  const problem = checkJsonBody(value)
  return problem === undefined ? jsonBody(value) : invalidBody(badRequest(`Bad message: ${problem}`))
}

/** Reads the whole of a body with one of the protocol's decoders; every fault becomes what the sender is told. */
export const decodeBody = <A>(
  body: Body,
  decode: (wire: unknown) => Result.Result<A, string>
): Result.Result<A, ProtocolError> =>
  Result.flatMap(body.value(), (value) => Result.mapError(decode(value), badRequest))

/** {@link decodeBody} for those who need no more than the head. */
export const decodeHead = <A>(
  body: Body,
  decode: (wire: unknown) => Result.Result<A, string>
): Result.Result<A, ProtocolError> =>
  Result.flatMap(body.head, (value) => Result.mapError(decode(value), badRequest))
