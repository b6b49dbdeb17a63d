import { type Context, Effect, Result } from "effect"
import type { McpCallOptions, McpProgress } from "../../application/ports/McpSession.ts"
import { askResponder } from "../../application/shared/questions/askUntilValid.ts"
import { type JsonObject, isJsonObject, parseJsonOrThrow } from "../../domain/json.ts"
import { type InputAnswer, parseInputRequest } from "../../domain/model/InputRequest.ts"
import type { ToolContext, ToolQuestion } from "../packs/author/BaseMcpTool.ts"
import { type EnterPackCode, runPackCode, thrownMessage } from "./runPackCode.ts"
import { withProgress } from "./withProgress.ts"
import { Base64 } from "effect/encoding"
import { isKnownContentBlock } from "../../domain/model/ToolResult.ts"

/** A file, such as an image, or the address of one. */
type Attachment = Blob | URL

const isAttachment = (value: unknown): value is Attachment => value instanceof Blob || value instanceof URL

const textBlock = (text: string) => ({ type: "text", text })

const nameOf = (file: Blob): string => ("name" in file && typeof file.name === "string" ? file.name : "file")

const toBlock = async (attachment: Attachment): Promise<JsonObject> => {
  if (attachment instanceof URL) {
    const { host, href, pathname } = attachment
    return { type: "resource_link", uri: href, name: pathname.split("/").at(-1) || host || href }
  }
  // Without the parameters of a media type, such as `charset`.
  const [mimeType = ""] = attachment.type.split(";")
  const [, kind] = /^(image|audio|text)\//.exec(mimeType) ?? []
  const uri = `attachment:///${encodeURIComponent(nameOf(attachment))}`
  if (kind === "text") return { type: "resource", resource: { uri, mimeType, text: await attachment.text() } }
  const data = Base64.encode(new Uint8Array(await attachment.arrayBuffer()))
  return kind === undefined
    ? { type: "resource", resource: { uri, mimeType: mimeType || "application/octet-stream", blob: data } }
    : { type: kind, data, mimeType }
}

/** Replaces attachments by content blocks, and the texts beside them. */
const embedAttachments = async (value: unknown): Promise<unknown> => {
  if (isAttachment(value)) return toBlock(value)
  if (!Array.isArray(value) || !value.some(isAttachment)) return value
  return Promise.all(
    value.map((part: unknown) => {
      if (isAttachment(part)) return toBlock(part)
      return typeof part === "string" ? textBlock(part) : part
    })
  )
}

const isContentBlockList = (value: unknown): value is ReadonlyArray<unknown> =>
  Array.isArray(value) && value.every(isKnownContentBlock)

const fromJson = (value: unknown): JsonObject => {
  if (typeof value === "string") return { content: [textBlock(value)] }
  if (isKnownContentBlock(value)) return { content: [value] }
  if (isContentBlockList(value)) return { content: value }
  if (isJsonObject(value) && isContentBlockList(value["content"])) return value
  // Structured content must be an object.
  const structuredContent = isJsonObject(value) ? value : { result: value }
  return { content: [textBlock(JSON.stringify(value))], structuredContent }
}

/**
 * Converts the return value of a tool to an MCP tool result. A text, a block, a list of blocks and a whole result stay
 * as they are. A `Blob` becomes an image, a sound or a file, a `URL` a link, also in a list beside texts and blocks.
 * `undefined` becomes an empty result; any other JSON value becomes structured content and text. Fails when the value is
 * not JSON.
 */
const toCallToolResult = (value: unknown): Effect.Effect<JsonObject, string> =>
  Effect.tryPromise({
    try: async () => {
      if (value === undefined) return { content: [] }
      const text: string | undefined = JSON.stringify(await embedAttachments(value))
      if (text === undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`)
      return fromJson(parseJsonOrThrow(text))
    },
    catch: thrownMessage
  })

const toProgress = ({ message, progress, total }: McpProgress): McpProgress => ({
  progress,
  ...(Number.isFinite(total) && { total }),
  ...(typeof message === "string" && { message })
})

/** Asks the user of a call. An invalid question is a defect of its tool. */
const askUser = (responder: McpCallOptions["responder"], question: ToolQuestion): Effect.Effect<InputAnswer> =>
  Effect.suspend(() => {
    const mode = "url" in question ? "url" : "form"
    const parsed = parseInputRequest({ ...question, mode, requestedSchema: "schema" in question && question.schema })
    if (Result.isFailure(parsed)) return Effect.die(new TypeError(`ask: ${parsed.failure}`))
    return askResponder(responder, parsed.success)
  })

/** What the host gives to a tool for a call. */
interface ToolHost extends Pick<ToolContext, "config" | "logger">, McpCallOptions {
  readonly enter: EnterPackCode
}

/**
 * Runs a tool and gives its MCP result. Interruption aborts the signal of the tool, and its open questions. `toError` maps
 * what the tool throws, and a result that is not JSON.
 */
export const runTool = <E>(
  run: (context: ToolContext) => unknown,
  { onProgress = () => Effect.void, ...host }: ToolHost,
  toError: (thrown: unknown) => E
): Effect.Effect<JsonObject, E> =>
  withProgress(onProgress, (report) =>
    Effect.contextWith((services: Context.Context<never>) => {
      const { config, enter, logger, requester, responder } = host
      const controller = new AbortController()
      const { signal } = controller
      const ask = (question: ToolQuestion) => Effect.runPromiseWith(services)(askUser(responder, question), { signal })
      const progress = (step: McpProgress) => {
        if (Number.isFinite(step.progress)) report(toProgress(step))
      }
      return runPackCode(enter, () => run({ signal, logger, progress, ask, requester, config })).pipe(
        Effect.onInterrupt(() => Effect.sync(() => enter(() => controller.abort()))),
        Effect.mapError(({ value }) => toError(value))
      )
    })
  ).pipe(
    Effect.flatMap((value) =>
      Effect.mapError(toCallToolResult(value), (reason) => toError(new TypeError(`the result is not JSON: ${reason}`)))
    )
  )
