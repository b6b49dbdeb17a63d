import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { internalError, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"

/** A body received as text. The first access to its value parses it; forwarding does not. */
class TextBody implements Body {
  readonly isObject: boolean
  readonly #text: Result.Result<string, ProtocolError>
  #value: Result.Result<unknown, ProtocolError> | undefined
  constructor(text: string) {
    this.#text = Result.succeed(text)
    this.isObject = text.startsWith("{") && text.endsWith("}")
  }
  get isHeadParsed(): boolean {
    return this.#value !== undefined
  }
  get head(): Result.Result<unknown, ProtocolError> {
    return this.value()
  }
  value(): Result.Result<unknown, ProtocolError> {
    this.#value ??= Result.flatMap(this.#text, (text) =>
      Result.try({
        try: (): unknown => JSON.parse(text),
        catch: () => internalError("The message is not JSON")
      })
    )
    return this.#value
  }
  text(): Result.Result<string, ProtocolError> {
    return this.#text
  }
  byteLength(): number {
    return Result.match(this.#text, { onFailure: () => 0, onSuccess: (text) => encodeUtf8(text).length })
  }
}

/** Makes a body of JSON text from another node. */
export const textBody = (text: string): Body => new TextBody(text)
