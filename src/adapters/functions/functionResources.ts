import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import { type McpSessionError, protocolFailure } from "../../application/ports/McpSession.ts"
import { buildWindowUri } from "../../domain/desktop/WindowUri.ts"
import { documentMimeTypes } from "../../domain/documents/DocumentContents.ts"
import type { JsonObject } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { definedOnly } from "../../domain/objects.ts"
import { formatUri } from "../../domain/uri.ts"
import { enterDirectly, runPackCode, thrownMessage } from "../tools/runPackCode.ts"
import type { FunctionDocument, FunctionWindow } from "./FunctionDefinitions.ts"

/** A window or a document as an MCP resource. */
export interface OfferedResource {
  readonly name: string
  readonly definition: JsonObject & { readonly uri: string }
  readonly read: Effect.Effect<ReadonlyArray<JsonObject>, McpSessionError>
  /** Starts to report changes; gives the function that ends it. */
  readonly follow: (onChange: () => void) => () => void
}

const isAnnounced = () => () => undefined

/** Runs a function of the host; what it throws is the error of the read. */
const readOf = (uri: string, read: () => unknown) =>
  Effect.mapError(runPackCode(enterDirectly, read), ({ value }) =>
    protocolFailure(jsonRpcCodes.internalError, `${uri} cannot be read: ${thrownMessage(value)}`)
  )

const toTextContent = (uri: string, mimeType: string, text: unknown): ReadonlyArray<JsonObject> => [
  { uri, mimeType, text: String(text) }
]

/** The current text of a signal, which is followed as long as the window is offered. */
const makeSignalWindow = (uri: string, { subscribe }: Exclude<FunctionWindow["text"], () => unknown>) => {
  let current: string | undefined
  return {
    read: Effect.sync(() => toTextContent(uri, "text/plain", current ?? "")),
    follow: (onChange: () => void) => {
      const subscription = subscribe((text) => {
        const isChange = current !== undefined && text !== current
        current = text
        if (isChange) onChange()
      })
      return typeof subscription === "function" ? subscription : () => subscription.unsubscribe()
    }
  }
}

/** Makes the resource of a window; fails with the reason why its parameters are invalid. */
export const makeWindow = (host: string, window: FunctionWindow): Result.Result<OfferedResource, string> => {
  const { description, fullscreen, name, priority, text, title } = window
  const parts = { host, path: [name], priority: priority ?? null, fullscreen: fullscreen ?? null }
  return Result.mapBoth(buildWindowUri(parts), {
    onFailure: ({ reason }) => reason,
    onSuccess: (uri) => ({
      name,
      definition: { uri, name, mimeType: "text/plain", ...definedOnly({ description, title }) },
      ...(typeof text === "function"
        ? {
            read: Effect.map(
              readOf(uri, () => text()),
              (read) => toTextContent(uri, "text/plain", read)
            ),
            follow: isAnnounced
          }
        : makeSignalWindow(uri, text))
    })
  })
}

const toContents = async (uri: string, mimeType: string | undefined, value: unknown) => {
  if (value instanceof URL) {
    const location = JSON.stringify(definedOnly({ uri: value.href, mime_type: mimeType }))
    return [{ uri, mimeType: documentMimeTypes.external, text: location }]
  }
  if (value instanceof Blob) {
    const blob = Base64.encode(new Uint8Array(await value.arrayBuffer()))
    return [{ uri, mimeType: mimeType ?? (value.type || "application/octet-stream"), blob }]
  }
  return typeof value === "string"
    ? toTextContent(uri, mimeType ?? "text/plain", value)
    : toTextContent(uri, documentMimeTypes.inline, JSON.stringify(value))
}

export const makeDocument = (host: string, document: FunctionDocument): OfferedResource => {
  const { description, keywords, mimeType, name, pages, read, title } = document
  const uri = formatUri("dpe", host, [name])
  const meta = definedOnly({ page_count: pages, keywords, file_type: name.split(".").slice(1).at(-1) })
  return {
    name,
    // The search takes the name for the title (spec §11.3).
    definition: { uri, name: title ?? name, _meta: meta, ...definedOnly({ description, mimeType }) },
    read: readOf(uri, async () => toContents(uri, mimeType, await read())) as OfferedResource["read"],
    follow: isAnnounced
  }
}
