import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { checkParsedJson, isJsonObject, type JsonObject, parseJson } from "../../domain/json.ts"
import { badRequest, type ProtocolError } from "../../domain/model/ProtocolError.ts"

type ParsedJson = Body["head"]

/** Memory that a kept body may retain, by its size. A lower factor would copy many bodies, which costs time. */
const maxRetentionFactor = 8

const openBrace = 0x7b
const closeBrace = 0x7d

/** Copies bytes that retain more than `factor` times their size: a small part of a large read of the network. */
export const compactBytes = (bytes: Buffer, factor: number): Buffer => {
  if (bytes.buffer.byteLength <= bytes.length * factor) return bytes
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

/** A body that is forwarded as received. */
export class RawBody implements Body {
  #tail: Buffer
  readonly isObject: boolean
  #head: ParsedJson | undefined
  #value: ParsedJson | undefined
  private constructor(tail: Buffer, head: ParsedJson | undefined, value: ParsedJson | undefined, isObject: boolean) {
    this.#tail = tail
    this.#head = head
    this.#value = value
    this.isObject = isObject
  }
  /** `value` must be a valid body. */
  static parsed(tail: Buffer, value: unknown): RawBody {
    const result = Result.succeed(value)
    return new RawBody(tail, result, result, isJsonObject(value))
  }
  static scanned(tail: Buffer, head: JsonObject): RawBody {
    return new RawBody(tail, Result.succeed(head), undefined, true)
  }
  /** An object when it is between braces. */
  static unparsed(tail: Buffer): RawBody {
    const isObject = tail[0] === openBrace && tail[tail.length - 2] === closeBrace
    return new RawBody(tail, undefined, undefined, isObject)
  }
  /** The JSON text and one byte more: the packet's last bracket. */
  get tail(): Buffer {
    return this.#tail
  }
  /** Frees the memory around a body that is going to be kept. */
  compact(): void {
    this.#tail = compactBytes(this.#tail, maxRetentionFactor)
  }
  /** The bytes of the JSON text, read-only. */
  get json(): Buffer {
    return this.#tail.subarray(0, this.#tail.length - 1)
  }
  get isHeadParsed(): boolean {
    return this.#head !== undefined
  }
  get head(): ParsedJson {
    this.#head ??= this.value()
    return this.#head
  }
  value(): ParsedJson {
    this.#value ??= Result.flatMap(this.text(), parseBodyJson)
    return this.#value
  }
  text(): Result.Result<string, ProtocolError> {
    return Result.succeed(this.#tail.toString("utf8", 0, this.#tail.length - 1))
  }
  byteLength(): number {
    return this.#tail.length - 1
  }
}

const parseBodyJson = (text: string): ParsedJson => {
  const value = parseJson(text)
  const problem = value === undefined ? "not JSON" : checkParsedJson(text, value)
  return problem === undefined ? Result.succeed(value) : Result.fail(badRequest(`Bad message: ${problem}`))
}
