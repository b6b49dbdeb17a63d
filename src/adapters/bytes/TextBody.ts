import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { internalError } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"
import { parseJsonOrThrow } from "../../domain/json.ts"

/** A body received as text. The first access to its value parses it; forwarding does not. */
class TextBody implements Body {
  readonly isObject: boolean
  readonly #text: Result.Result<string>
  #value: Body["head"] | undefined
  constructor(text: string) {
    this.#text = Result.succeed(text)
    this.isObject = text.startsWith("{") && text.endsWith("}")
  }
  get isHeadParsed(): boolean {
    return this.#value !== undefined
  }
  get head(): Body["head"] {
    return this.value()
  }
  value(): Body["head"] {
    this.#value ??= Result.try({
      try: () => parseJsonOrThrow(Result.merge(this.#text)),
      catch: () => internalError("The message is not JSON")
    })
    return this.#value
  }
  text(): Result.Result<string> {
    return this.#text
  }
  byteLength(): number {
    return encodeUtf8(Result.merge(this.#text)).length
  }
}

/** Makes a body of JSON text from another node. */
export const textBody = (text: string): Body => new TextBody(text)
