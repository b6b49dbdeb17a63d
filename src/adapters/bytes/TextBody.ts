import { Result } from "effect"
import type { Body } from "../../application/ports/Body.ts"
import { internal, type Refusal } from "../../domain/refusal.ts"
import { encodeUtf8 } from "../../domain/utf8.ts"

/** A body that came as text. It is parsed when somebody looks into it, which who only passes it on does not. */
class TextBody implements Body {
  readonly isObject: boolean
  readonly #text: Result.Result<string, Refusal>
  #value: Result.Result<unknown, Refusal> | undefined
  constructor(text: string) {
    this.#text = Result.succeed(text)
    this.isObject = text.startsWith("{") && text.endsWith("}")
  }
  get isRead(): boolean {
    return this.#value !== undefined
  }
  get head(): Result.Result<unknown, Refusal> {
    return this.whole()
  }
  whole(): Result.Result<unknown, Refusal> {
    this.#value ??= Result.flatMap(this.#text, (text) =>
      Result.try({
        try: (): unknown => JSON.parse(text),
        catch: () => internal("The message is no JSON")
      })
    )
    return this.#value
  }
  text(): Result.Result<string, Refusal> {
    return this.#text
  }
  bytes(): number {
    return Result.match(this.#text, { onFailure: () => 0, onSuccess: (text) => encodeUtf8(text).length })
  }
}

/** The body that a text from another node stands for. */
export const textBody = (text: string): Body => new TextBody(text)
