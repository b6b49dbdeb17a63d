import type { IncomingMessage } from "node:http"
import { Effect, Stream } from "effect"
import { parse, type ParseError } from "jsonc-parser"
import { checkJsonBody, isJsonObject, type JsonObject, parseJsonOrThrow } from "../../../domain/json.ts"
import { type ClientDisconnected, limitedBody, type PendingRequest } from "../../http/messages/limitedBody.ts"
import { reject, rejectParams, type RequestRejected } from "./reply.ts"

/** Parses a media type and its charset, in lower case; JSON without a header. */
export const parseContentType = ({ headers }: IncomingMessage) => {
  const text = headers["content-type"]?.trim().toLowerCase() || "application/json"
  const [, charset] = /;\s*charset="?([^\s";]+)/.exec(text) ?? []
  const [name = ""] = text.split(";")
  return { name: name.trim(), charset }
}

/** Streams a body; fails with 413 above `maxBytes`. */
export const bodyStream = (
  body: PendingRequest,
  maxBytes: number
): Stream.Stream<Uint8Array, ClientDisconnected | RequestRejected> =>
  limitedBody(body, maxBytes, reject(413, `The body exceeds the limit of ${maxBytes} bytes`))

/** Offset of the first invalid character, from the message of Node's parser, or from a second parser. */
const jsonErrorOffset = (text: string, message: string): number => {
  const [, reported] = /at position (\d+)/.exec(message) ?? []
  if (reported !== undefined) return Number(reported)
  if (message.includes("end of JSON input")) return text.length
  const errors: Array<ParseError> = []
  try {
    parse(text, errors, { disallowComments: true, allowTrailingComma: false })
  } catch {
    // The second parser recurses and overflows the stack on deep nesting.
    return 0
  }
  return errors[0]?.offset ?? 0
}

const parseRequestJson = (text: string): Effect.Effect<unknown, RequestRejected> =>
  Effect.try({
    try: () => parseJsonOrThrow(text),
    catch: (error) => {
      const offset = jsonErrorOffset(text, error instanceof Error ? error.message : "")
      return rejectParams("JSON decode error", [offset], "json_invalid")
    }
  })

/** Checks that parameters are an object that tools can receive; fails with 422. */
export const checkParams = (value: unknown): Effect.Effect<JsonObject, RequestRejected> => {
  if (!isJsonObject(value)) {
    return Effect.fail(rejectParams("The parameters must be an object", [], "model_attributes_type"))
  }
  const error = checkJsonBody(value)
  return error === undefined ? Effect.succeed(value) : Effect.fail(rejectParams(`The parameters are invalid: ${error}`))
}

export const readText = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const chunks = yield* Stream.runCollect(bodyStream(body, maxBytes))
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)),
    catch: () => rejectParams("The body is not UTF-8")
  })
})

export const readJson = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const text = yield* readText(body, maxBytes)
  if (text === "") return yield* rejectParams("The body is missing", [], "missing")
  return { params: yield* checkParams(yield* parseRequestJson(text)), files: {}, form: false }
})
