import { Array, Clock, Duration, Effect, Result, Struct } from "effect"
import { Base64 } from "effect/encoding"
import type { JsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { formatBytes, formatCount, formatDuration } from "../../../domain/text/format.ts"
import {
  blocksOf,
  collectContent,
  formatBinary,
  jsonSize,
  pageEnd,
  type ResultContent,
  summarize,
  toCharacterStart
} from "../../../domain/results/resultContent.ts"
import { nextPageKey, parseResultUri, type ResultPage, toResultUri } from "../../../domain/results/resultUris.ts"
import { type McpSessionError, protocolFailure } from "../../ports/McpSession.ts"
import { singleLine } from "../../../domain/tools/singleLine.ts"
import { makeKeptValues } from "../../../domain/blobs/keptValues.ts"
import { makeTaggedIds } from "../../shared/secureRandom.ts"

/** How long a result is kept: a model reads on within its task, and a person may decide in between. */
const keepTime = Duration.minutes(30)

/** Maximum number of kept results: more than a model reads at the same time. */
const maxCount = 100

/** Total size of kept results in bytes, which an office without large results does not use. */
const maxBytes = 64 * 1024 * 1024

/** How often expired results are dropped: their memory is free soon after. */
const sweepInterval = Duration.minutes(1)

interface Kept {
  readonly content: ResultContent
  readonly size: number
  readonly expires: number
}

/** The memory of a content: V8 keeps text in up to two bytes per unit. */
const sizeOf = ({ binaries, text }: ResultContent): number =>
  binaries.reduce((sum, { bytes }) => sum + bytes.length, 2 * text.length)

const makeKeptResults = Effect.gen(function* () {
  const kept = makeKeptValues<Kept>(({ size }) => size, maxBytes, maxCount)
  const ids = makeTaggedIds("-")
  const dropExpired = Effect.map(Clock.currentTimeMillis, (now) => kept.removeIf(({ expires }) => expires <= now))

  yield* Effect.addFinalizer(() => Effect.sync(() => kept.removeIf(() => true)))
  yield* Effect.forkScoped(Effect.forever(Effect.delay(dropExpired, sweepInterval)))

  const gone =
    `The result is no longer kept. Results are kept for ${formatDuration(Duration.toMillis(keepTime))}, and at most ` +
    `${maxCount} of them or ${formatBytes(maxBytes)}: call the tool again`

  return {
    newId: ids.next,
    /** Keeps a content, and drops the oldest ones. False when it alone is too large. */
    keep: Effect.fnUntraced(function* (id: string, content: ResultContent) {
      const size = sizeOf(content)
      if (size > maxBytes) return false
      kept.put(id, { content, size, expires: (yield* Clock.currentTimeMillis) + Duration.toMillis(keepTime) })
      return true
    }),
    /** Finds a content, or fails with the reason for a person. */
    find: Effect.fnUntraced(function* (id: string) {
      yield* dropExpired
      const found = kept.get(id)
      if (found !== undefined) return found.content
      return yield* Effect.fail(
        ids.isOwn(id) ? gone : `There is no result '${singleLine(id, 60)}': the id is not one of this session`
      )
    })
  }
})

/** The smallest budget of a result in bytes: the summary and its links need a part of it. */
export const lowestMaxResult = 4096

/** Bytes of a page beside its text: URIs, numbers and the names of the members. */
const pageEnvelope = 512

/** Links to binary parts of one result; the text names the others. */
const maxBinaryLinks = 3

const text = (value: string): JsonObject => ({ type: "text", text: value })
export const textResult = (value: string): JsonObject => ({ content: [text(value)] })
export const errorResult = (value: string): JsonObject => ({ ...textResult(value), isError: true })

const linksTo = ({ binaries }: ResultContent, id: string): ReadonlyArray<JsonObject> => [
  { type: "resource_link", uri: toResultUri({ id, offset: 0 }), name: "whole result", mimeType: "text/plain" },
  ...binaries.slice(0, maxBinaryLinks).map((part, index) => ({
    type: "resource_link",
    uri: toResultUri({ id, binary: index + 1, offset: 0 }),
    name: `binary part ${index + 1}`,
    description: formatBinary(part)
  }))
]

/** Keeps items while their sizes fit into `room` together. */
const takeWithin = <A>(items: ReadonlyArray<A>, room: number): ReadonlyArray<A> => {
  let left = room
  return items.filter((item) => {
    const size = jsonSize(item) + 1
    if (size > left) return false
    left -= size
    return true
  })
}

const shorten = (
  result: JsonObject,
  { content, id, maxBytes, size }: { content: ResultContent; id: string | undefined; maxBytes: number; size: number }
): JsonObject => {
  const { content: _, structuredContent, ...members } = result
  // Unknown members stay unless they are a large part of the budget themselves.
  const rest = jsonSize(members) > maxBytes / 4 ? definedOnly({ isError: members["isError"] }) : members
  const links = id === undefined ? [] : linksTo(content, id)
  const note = (end: number): JsonObject => {
    const advice =
      id === undefined
        ? "It is too large to be kept."
        : `To read on, call result_read with ${JSON.stringify({ id, offset: end })}, or read the linked resource.`
    const shown = `Above are its first ${formatCount(end)} characters. ${summarize(result, content, size)}`
    return text(`This result exceeds the limit of ${formatBytes(maxBytes)}. ${shown} ${advice}`)
  }
  // The number of characters in the note is at most that of the whole text.
  const reserved = jsonSize({ ...rest, content: [text(""), note(content.text.length), ...links] })
  const room = Math.max(0, maxBytes - reserved)
  const others = blocksOf(result).filter((block) => (block as JsonObject)["type"] !== "text")
  const blocks = takeWithin(others, room / 2)
  const structured = takeWithin(structuredContent === undefined ? [] : [{ structuredContent }], room / 4)[0] ?? {}
  const end = pageEnd(content.text, 0, maxBytes - reserved - (jsonSize(blocks) + jsonSize(structured)))
  return { ...rest, content: [text(content.text.slice(0, end)), ...blocks, note(end), ...links], ...structured }
}

/** A page of a text: its end, and the offset of the next one unless it is the last. */
const textPage = (whole: string, offset: number, maxBytes: number) => {
  const start = toCharacterStart(whole, offset)
  const end = pageEnd(whole, start, maxBytes - pageEnvelope)
  return { start, end, text: whole.slice(start, end), next: end < whole.length ? end : undefined }
}

/** A page of bytes in base64; whole groups of three bytes, so that the texts of the pages join. */
const binaryPage = (whole: Uint8Array, offset: number, maxBytes: number) => {
  const start = offset - (offset % 3)
  const end = Math.min(whole.length, start + Math.floor((maxBytes - pageEnvelope) / 4) * 3)
  return { blob: Base64.encode(whole.subarray(start, end)), next: end < whole.length ? end : undefined }
}

const beyondEnd = (offset: number, total: number) => `The offset ${offset} is beyond the end of the result at ${total}`

const toPage = (content: ResultContent, page: ResultPage, maxBytes: number): Result.Result<JsonObject, string> => {
  const { binary, id, offset } = page
  const part = binary === undefined ? undefined : content.binaries[binary - 1]
  if (binary !== undefined && part === undefined) return Result.fail(`The result ${id} has no binary part ${binary}`)
  const total = part === undefined ? content.text.length : part.bytes.length
  if (offset > total) return Result.fail(beyondEnd(offset, total))
  const { next, ...body } =
    part === undefined
      ? Struct.pick(textPage(content.text, offset, maxBytes), ["text", "next"])
      : binaryPage(part.bytes, offset, maxBytes)
  return Result.succeed({
    uri: toResultUri(page),
    mimeType: part?.mimeType ?? "text/plain",
    ...body,
    _meta: {
      ...(next !== undefined && { [nextPageKey]: toResultUri({ ...page, offset: next }) }),
      a2c_total: total
    }
  })
}

const describePage = (whole: string, offset: number, maxBytes: number): JsonObject => {
  if (offset > whole.length) return errorResult(beyondEnd(offset, whole.length))
  const { end, next, start, text: page } = textPage(whole, offset, maxBytes)
  const state = `Characters ${formatCount(start)} to ${formatCount(end)} of ${formatCount(whole.length)}.`
  const more = next === undefined ? "This is the end." : `Continue with offset ${next}.`
  return { content: [text(page), text(`${state} ${more}`)] }
}

/** Limits the results of an office, and reads the limited ones. */
export type LargeResults = Effect.Success<ReturnType<typeof makeLargeResults>>

/** Makes the limit of results above `maxResult` bytes of JSON; at least {@link lowestMaxResult}. */
export const makeLargeResults = Effect.fnUntraced(function* (maxResult: number) {
  const maxBytes = Math.max(maxResult, lowestMaxResult)
  const kept = yield* makeKeptResults
  return {
    /** Gives a result within the budget: unchanged, or its beginning, a summary and links to the whole. */
    limit: Effect.fnUntraced(function* (result: JsonObject) {
      const size = jsonSize(result)
      if (size <= maxBytes) return result
      const id = kept.newId()
      const content = collectContent(result, {
        decode: (base64) => Result.getOrUndefined(Base64.decode(base64)),
        uriOf: (binary) => toResultUri({ id, binary, offset: 0 })
      })
      const isKept = yield* kept.keep(id, content)
      return shorten(result, { content, id: isKept ? id : undefined, maxBytes, size })
    }),
    /** Reads a page of a kept result: the tool `result_read`. */
    read: ({ id, offset = 0 }: JsonObject): Effect.Effect<JsonObject> =>
      typeof id === "string" && typeof offset === "number" && Number.isSafeInteger(offset) && offset >= 0
        ? Effect.match(kept.find(id), {
            onFailure: errorResult,
            onSuccess: ({ text: whole }) => describePage(whole, offset, maxBytes)
          })
        : Effect.succeed(errorResult("Expected {id, offset}: the id of a result, and characters to skip")),
    /** Reads a page by its URI; `undefined` for a URI of another kind. */
    readResource: (uri: string): Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError> | undefined => {
      const page = parseResultUri(uri)
      if (page === undefined) return undefined
      return kept.find(page.id).pipe(
        Effect.flatMap((content) => Effect.fromResult(toPage(content, page, maxBytes))),
        Effect.mapBoth({
          onFailure: (message) => protocolFailure(-32002, message),
          onSuccess: Array.of
        })
      )
    }
  }
})
