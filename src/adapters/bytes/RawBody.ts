import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { checkJsonBody, isJsonObject, type JsonObject } from "../../domain/json.ts"
import { badRequest, type ProtocolError } from "../../domain/model/ProtocolError.ts"

const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * A body that is forwarded as its received bytes. `tail` is the JSON text and one more byte: the bracket that ends the
 * packet.
 */
export class RawBody implements Body {
  readonly tail: Buffer
  readonly isObject: boolean
  #head: Result.Result<unknown, ProtocolError> | undefined
  #value: Result.Result<unknown, ProtocolError> | undefined
  private constructor(
    tail: Buffer,
    head: Result.Result<unknown, ProtocolError> | undefined,
    value: Result.Result<unknown, ProtocolError> | undefined,
    isObject: boolean
  ) {
    this.tail = tail
    this.#head = head
    this.#value = value
    this.isObject = isObject
  }
  /** A parsed and valid body. */
  static parsed(tail: Buffer, value: unknown): RawBody {
    const result = Result.succeed(value)
    return new RawBody(tail, result, result, isJsonObject(value))
  }
  /** A body with parsed outermost members. */
  static scanned(tail: Buffer, head: JsonObject): RawBody {
    return new RawBody(tail, Result.succeed(head), undefined, true)
  }
  /** An unparsed body: an object when it is between braces. */
  static unparsed(tail: Buffer): RawBody {
    const isObject = tail[0] === openBrace && tail[tail.length - 2] === closeBrace
    return new RawBody(tail, undefined, undefined, isObject)
  }
  /** The bytes of the JSON text, read-only. */
  get json(): Buffer {
    return this.tail.subarray(0, this.tail.length - 1)
  }
  get isHeadParsed(): boolean {
    return this.#head !== undefined
  }
  get head(): Result.Result<unknown, ProtocolError> {
    this.#head ??= this.value()
    return this.#head
  }
  value(): Result.Result<unknown, ProtocolError> {
    this.#value ??= parseBodyJson(this.tail.toString("utf8", 0, this.tail.length - 1))
    return this.#value
  }
  text(): Result.Result<string, ProtocolError> {
    return Result.succeed(this.tail.toString("utf8", 0, this.tail.length - 1))
  }
  byteLength(): number {
    return this.tail.length - 1
  }
}

const parseBodyJson = (text: string): Result.Result<unknown, ProtocolError> => {
  const parsed = Result.try({
    try: (): unknown => JSON.parse(text),
    catch: () => badRequest("Bad message: not JSON")
  })
  return Result.flatMap(parsed, (value) => {
    const problem = checkJsonBody(value)
    return problem === undefined ? Result.succeed(value) : Result.fail(badRequest(`Bad message: ${problem}`))
  })
}
