import { Struct, Effect } from "effect"
import * as z from "zod"
import {
  isWatched,
  type McpChange,
  type McpInfo,
  McpSessionError,
  type McpWatchOptions,
  sessionError,
  type InputResponder
} from "../../../application/ports/McpSession.ts"
import { asObject, asString, isJsonObject, type JsonObject, parseJson } from "../../../domain/json.ts"
import { appCapability } from "../../../domain/tools/appTools.ts"
import { repairMessage } from "../jsonRpcMessages.ts"

export const maxPendingChanges = 1024

/** Largest message that a server may send, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024

/** Accepts any object: the schemas of the SDKs would strip unknown members. */
export const anyObject = z.looseObject({})

/** Disables the timers of the SDKs: callers set timeouts and interrupt requests. */
export const noTimeout = 2 ** 31 - 1

/** What MCP servers may ask of the user of a call: forms, and pages to open. Hosts of the office may show their apps. */
export const clientCapabilities = { elicitation: { form: {}, url: {} }, extensions: appCapability }

/** The least severe messages that MCP servers are asked to log. */
export const logLevel = "info"

export const decodeInfo = (
  protocolVersion: string | undefined,
  { capabilities, instructions, serverInfo }: JsonObject
): McpInfo => {
  const { name, version } = asObject(serverInfo)
  const { completions, prompts, resources, tools } = asObject(capabilities)
  return {
    name: asString(name) ?? "unknown",
    version: asString(version) ?? "unknown",
    protocolVersion,
    capabilities: {
      tools: tools !== undefined,
      resources: resources !== undefined,
      subscribe: asObject(resources)["subscribe"] === true,
      prompts: prompts !== undefined,
      completions: completions !== undefined
    },
    instructions: asString(instructions),
    implementation: asObject(serverInfo)
  }
}

const changeMethods: { readonly [T in McpChange["_tag"]]: string } = {
  ToolsChanged: "notifications/tools/list_changed",
  ResourcesChanged: "notifications/resources/list_changed",
  PromptsChanged: "notifications/prompts/list_changed",
  ResourceUpdated: "notifications/resources/updated",
  Logged: "notifications/message"
}

export const encodeChange = ({ _tag, ...params }: McpChange) => ({
  method: changeMethods[_tag],
  ...(Struct.keys(params).length > 0 && { params })
})

export const decodeChange = (method: string, params: unknown): McpChange | undefined => {
  const { data, level, logger, uri } = asObject(params)
  const _tag = Struct.keys(changeMethods).find((tag) => changeMethods[tag] === method)
  if (_tag === "Logged") return { _tag, level: asString(level) ?? "info", logger: asString(logger), data }
  if (_tag === "ResourceUpdated") return typeof uri === "string" ? { _tag, uri } : undefined
  return _tag && { _tag }
}

/** Every change that a watch can report, for the time after missed notifications. */
export const allChanges = (wanted: McpWatchOptions): ReadonlyArray<McpChange> => {
  const lists = (["ToolsChanged", "PromptsChanged", "ResourcesChanged"] as const).map((_tag) => ({ _tag }))
  const resources = wanted.uris.map((uri) => ({ _tag: "ResourceUpdated", uri }) as const)
  return [...lists.filter((change) => isWatched(wanted, change)), ...resources]
}

/** Converts an HTTP error status. Only JSON-RPC errors in the body are quoted; others may contain anything. */
export const httpStatusToSessionError = (status: number, text: string): McpSessionError => {
  if (status === 401) return sessionError("unauthorized", "HTTP 401")
  if (status === 403) return sessionError("forbidden", "HTTP 403")
  const redirect = /redirect to .+? not followed/i.exec(text)?.[0]
  if (status < 400 && redirect !== undefined) return sessionError("unavailable", `HTTP ${status}: ${redirect}`)
  const json = asObject(parseJson(text))
  const message = "jsonrpc" in json || isJsonObject(json["error"]) ? repairMessage(json) : undefined
  if (message === undefined || !("error" in message)) return sessionError("unavailable", `HTTP ${status}`)
  const { code, data, message: reason } = message.error
  return new McpSessionError({ reason: "protocol", code, message: reason, ...(isJsonObject(data) && { data }) })
}

/** Receives what happens during a request. */
export interface RequestHandlers {
  /** Receives the parameters of progress notifications. */
  readonly onProgress?: ((params: JsonObject) => void) | undefined
  readonly responder?: InputResponder | undefined
  readonly onSent?: ((id: string | number) => void) | undefined
}

/** Waits for a last request up to one second and ignores its failure. */
export const attemptBriefly = <A, E>(request: Effect.Effect<A, E>): Effect.Effect<void> =>
  request.pipe(Effect.interruptible, Effect.timeoutOption("1 second"), Effect.ignore)

/** Sends a request and returns the result as it is. Interruption cancels the request. */
export type SendRequest = (
  method: string,
  params: JsonObject,
  handlers?: RequestHandlers
) => Effect.Effect<JsonObject, McpSessionError>
