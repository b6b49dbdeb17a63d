import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { bodyFault, isJsonObject, type JsonObject } from "../../domain/json.ts"
import { badRequest, type Refusal } from "../../domain/refusal.ts"

const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * A body that a peer sent and that is passed on as the bytes it came in. `tail` is its JSON text and the bracket that
 * ends the packet after it.
 */
export class RawBody implements Body {
  readonly tail: Buffer
  readonly isObject: boolean
  #head: Result.Result<unknown, Refusal> | undefined
  #whole: Result.Result<unknown, Refusal> | undefined
  private constructor(
    tail: Buffer,
    head: Result.Result<unknown, Refusal> | undefined,
    whole: Result.Result<unknown, Refusal> | undefined,
    isObject: boolean
  ) {
    this.tail = tail
    this.#head = head
    this.#whole = whole
    this.isObject = isObject
  }
  /** A body that has been read and found good. */
  static read(tail: Buffer, value: unknown): RawBody {
    const whole = Result.succeed(value)
    return new RawBody(tail, whole, whole, isJsonObject(value))
  }
  /** A body of which only the outermost members have been read. */
  static scanned(tail: Buffer, head: JsonObject): RawBody {
    return new RawBody(tail, Result.succeed(head), undefined, true)
  }
  /** A body that nobody has read: an object when it stands between braces. */
  static unread(tail: Buffer): RawBody {
    const isObject = tail[0] === openBrace && tail[tail.length - 2] === closeBrace
    return new RawBody(tail, undefined, undefined, isObject)
  }
  /** Its JSON text as bytes: not to be written to. */
  get json(): Buffer {
    return this.tail.subarray(0, this.tail.length - 1)
  }
  get isRead(): boolean {
    return this.#head !== undefined
  }
  get head(): Result.Result<unknown, Refusal> {
    this.#head ??= this.whole()
    return this.#head
  }
  whole(): Result.Result<unknown, Refusal> {
    this.#whole ??= checkedJson(this.tail.toString("utf8", 0, this.tail.length - 1))
    return this.#whole
  }
  text(): Result.Result<string, Refusal> {
    return Result.succeed(this.tail.toString("utf8", 0, this.tail.length - 1))
  }
  bytes(): number {
    return this.tail.length - 1
  }
}

const checkedJson = (text: string): Result.Result<unknown, Refusal> => {
  const value = Result.try({
    try: (): unknown => JSON.parse(text),
    catch: () => badRequest("Bad message: no JSON")
  })
  return Result.flatMap(value, (whole) => {
    const fault = bodyFault(whole)
    return fault === undefined ? Result.succeed(whole) : Result.fail(badRequest(`Bad message: ${fault}`))
  })
}
