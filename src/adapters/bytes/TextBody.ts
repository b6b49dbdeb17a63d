import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { internalError, type ProtocolError } from "../../domain/model/ProtocolError.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"

/** A body that came as text. It is parsed when somebody looks into it, which who only passes it on does not. */
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
        catch: () => internalError("The message is no JSON")
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

/** The body that a text from another node stands for. */
export const textBody = (text: string): Body => new TextBody(text)
