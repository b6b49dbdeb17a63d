import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import type { DpeRequest } from "../../../src/application/computer/ComputerSettings.ts"
import type { JsonObject } from "../../../src/domain/json.ts"

/** A request as a Computer makes it. */
export const requestOf = (
  contents: ReadonlyArray<JsonObject>,
  more: { readonly uri?: string; readonly mimeType?: string } = {}
): DpeRequest => ({
  uri: more.uri ?? "dpe://com.ex/report",
  contents,
  resource: undefined,
  hint: { mcpServerName: "alpha", mimeType: more.mimeType, agent: "agent-1", reqId: "r1" }
})

/** A request for a text document. */
export const textRequest = (text: string, uri?: string): DpeRequest =>
  requestOf([{ text, mimeType: "text/plain" }], uri === undefined ? {} : { uri })

/** Fetches a URI as an Agent does. */
export const bytesAt = (uri: string): Effect.Effect<Buffer> =>
  Effect.promise(async () =>
    uri.startsWith("file:") ? readFile(fileURLToPath(uri)) : Buffer.from(await (await fetch(uri)).arrayBuffer())
  )
