import type { IncomingMessage, ServerResponse } from "node:http"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Stream } from "effect"
import { parse, type ParseError } from "jsonc-parser"
import { bodyFault, isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { declaredLength } from "./connection.ts"
import { Gone, refuse, type Refused } from "./reply.ts"

/** Reads of Node's that are handed on at once: each holds up to 64 KiB. */
const readsAtOnce = 16

/** A request of which only the headers have been read. */
export interface Incoming {
  readonly request: IncomingMessage
  /** Asks for the body, where a client waits for that before it sends any. */
  readonly ask: () => void
}

/** A request whose client has not been told yet to go on. */
export const incoming = (request: IncomingMessage, response: ServerResponse): Incoming => {
  let waits = request.headers.expect !== undefined
  return {
    request,
    ask: () => {
      if (waits) response.writeContinue()
      waits = false
    }
  }
}

/** The kinds of bodies there are, without their parameters. */
export interface BodyType {
  /** In lower case, as `application/json`. */
  readonly name: string
  /** The character set in lower case; undefined when none is named. */
  readonly charset: string | undefined
}

/** What kind of body a request says it has; undefined when it does not say. */
export const bodyType = ({ headers }: IncomingMessage): BodyType | undefined => {
  const text = headers["content-type"]
  if (text === undefined || text.trim() === "") return undefined
  const [name = ""] = text.split(";")
  const [, charset] = /;\s*charset="?([^\s";]+)/i.exec(text) ?? []
  return { name: name.trim().toLowerCase(), charset: charset?.toLowerCase() }
}

/**
 * A body, read no faster than it is used up, and no further than it may be long, in bytes: then it is refused (413).
 * Leaving it half read leaves the connection as it is. It may be continued where it was left.
 */
export const makeBody = (
  { ask, request }: Incoming,
  largest: number
): Stream.Stream<Uint8Array, Gone | Refused> => {
  const tooLarge = refuse(413, `The body may have no more than ${largest} bytes`)
  if ((declaredLength(request) ?? 0) > largest) return Stream.fail(tooLarge)
  let size = 0
  return NodeStream.fromReadable<Uint8Array, Gone>({
    evaluate: () => {
      ask()
      return request
    },
    onError: () => new Gone(),
    chunkSize: readsAtOnce,
    closeOnDone: false
  }).pipe(
    Stream.tap((chunk) => {
      size += chunk.byteLength
      return size > largest ? Effect.fail(tooLarge) : Effect.void
    })
  )
}

const invalidJson = (position: number) =>
  refuse(422, [{ loc: ["body", position], msg: "JSON decode error", type: "json_invalid" }])

/** Where a text stops being JSON, in characters, as far as the message of Node's parser and a second one know. */
const faultOf = (text: string, message: string): number => {
  const [, told] = /at position (\d+)/.exec(message) ?? []
  if (told !== undefined) return Number(told)
  if (message.includes("end of JSON input")) return text.length
  const errors: Array<ParseError> = []
  try {
    parse(text, errors, { disallowComments: true, allowTrailingComma: false })
  } catch {
    // Nested so deep that the second parser, which recurses, gives up: the beginning is at fault as well.
    return 0
  }
  return errors[0]?.offset ?? 0
}

const parseJson = (text: string): Effect.Effect<unknown, Refused> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => invalidJson(faultOf(text, error instanceof Error ? error.message : ""))
  })

const unfit = (msg: string, type: string) => refuse(422, [{ loc: ["body"], msg, type }])

/** Parameters as an object that can go on to a tool; refused (422) when they are none. */
export const readParams = (value: unknown): Effect.Effect<JsonObject, Refused> => {
  if (!isJsonObject(value)) {
    return Effect.fail(unfit("The parameters must be an object", "model_attributes_type"))
  }
  const fault = bodyFault(value)
  return fault === undefined
    ? Effect.succeed(value)
    : Effect.fail(unfit(`The parameters cannot be passed on: ${fault}`, "value_error"))
}

/** The text of a body, which must be UTF-8. */
export const readText = Effect.fnUntraced(function* (body: Incoming, largest: number) {
  const chunks = yield* Stream.runCollect(makeBody(body, largest))
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)),
    catch: () => unfit("The body is not UTF-8", "value_error")
  })
})

/** The parameters of a body of JSON, which may have so many bytes. */
export const readJson = Effect.fnUntraced(function* (body: Incoming, largest: number) {
  const text = yield* readText(body, largest)
  if (text === "") return yield* unfit("The body is missing", "missing")
  return yield* readParams(yield* parseJson(text))
})
