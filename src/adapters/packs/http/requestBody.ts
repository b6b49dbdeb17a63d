import type { IncomingMessage, ServerResponse } from "node:http"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Effect, Stream } from "effect"
import { parse, type ParseError } from "jsonc-parser"
import { checkJsonBody, isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { paramsProblem } from "../../../domain/packs/PackManifest.ts"
import { contentLength } from "./sendReply.ts"
import { ClientDisconnected, reject, type RequestRejected } from "./reply.ts"

/** Reads of Node's that are handed on at once: each holds up to 64 KiB. */
const maxReadsPerPull = 16

/** A request of which only the headers have been read. */
export interface PendingRequest {
  readonly request: IncomingMessage
  /** Asks for the body, where a client waits for that before it sends any. */
  readonly sendContinue: () => void
}

/** A request whose client has not been told yet to go on. */
export const makePendingRequest = (request: IncomingMessage, response: ServerResponse): PendingRequest => {
  let awaitsContinue = request.headers.expect !== undefined
  return {
    request,
    sendContinue: () => {
      if (awaitsContinue) response.writeContinue()
      awaitsContinue = false
    }
  }
}

/** The kinds of bodies there are, without their parameters. */
export interface ContentType {
  /** In lower case, as `application/json`. */
  readonly name: string
  /** The character set in lower case; undefined when none is named. */
  readonly charset: string | undefined
}

/** What kind of body a request says it has; undefined when it does not say. */
export const parseContentType = ({ headers }: IncomingMessage): ContentType | undefined => {
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
export const bodyStream = (
  { sendContinue, request }: PendingRequest,
  maxBytes: number
): Stream.Stream<Uint8Array, ClientDisconnected | RequestRejected> => {
  const tooLarge = reject(413, `The body exceeds the limit of ${maxBytes} bytes`)
  if ((contentLength(request) ?? 0) > maxBytes) return Stream.fail(tooLarge)
  let size = 0
  return NodeStream.fromReadable<Uint8Array, ClientDisconnected>({
    evaluate: () => {
      sendContinue()
      return request
    },
    onError: () => new ClientDisconnected(),
    chunkSize: maxReadsPerPull,
    closeOnDone: false
  }).pipe(
    Stream.tap((chunk) => {
      size += chunk.byteLength
      return size > maxBytes ? Effect.fail(tooLarge) : Effect.void
    })
  )
}

const invalidJsonError = (position: number) =>
  reject(422, [paramsProblem("JSON decode error", [position], "json_invalid")])

/** Where a text stops being JSON, in characters, as far as the message of Node's parser and a second one know. */
const jsonErrorOffset = (text: string, message: string): number => {
  const [, reported] = /at position (\d+)/.exec(message) ?? []
  if (reported !== undefined) return Number(reported)
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

const parseJson = (text: string): Effect.Effect<unknown, RequestRejected> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) => invalidJsonError(jsonErrorOffset(text, error instanceof Error ? error.message : ""))
  })

const invalidBody = (msg: string, type?: string) => reject(422, [paramsProblem(msg, [], type)])

/** Parameters as an object that can go on to a tool; refused (422) when they are none. */
export const checkParams = (value: unknown): Effect.Effect<JsonObject, RequestRejected> => {
  if (!isJsonObject(value)) {
    return Effect.fail(invalidBody("The parameters must be an object", "model_attributes_type"))
  }
  const error = checkJsonBody(value)
  return error === undefined
    ? Effect.succeed(value)
    : Effect.fail(invalidBody(`The parameters are invalid: ${error}`))
}

/** The text of a body, which must be UTF-8. */
export const readText = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const chunks = yield* Stream.runCollect(bodyStream(body, maxBytes))
  return yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks)),
    catch: () => invalidBody("The body is not UTF-8")
  })
})

/** The parameters of a body of JSON, which may have so many bytes. */
export const readJson = Effect.fnUntraced(function* (body: PendingRequest, maxBytes: number) {
  const text = yield* readText(body, maxBytes)
  if (text === "") return yield* invalidBody("The body is missing", "missing")
  return yield* checkParams(yield* parseJson(text))
})
