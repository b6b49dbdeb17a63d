import type { StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Effect, Result } from "effect"
import type { McpSession } from "../../../../application/ports/McpSession.ts"
import { listAllPages } from "../../../../application/shared/paging.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import { asObject, asString, isJsonObject, type JsonObject } from "../../../../domain/json.ts"
import { schemaMapKeywords } from "../../../../domain/schemas/jsonSchema.ts"

/** A parameter of a tool that is also a header of its calls (SEP-2243). */
interface ParamHeader {
  readonly header: string
  /** Where the arguments of a call have the value. */
  readonly path: ReadonlyArray<string>
}

const keyword = "x-mcp-header"

/** Keywords with values, which are no schemas. */
const valueKeywords = new Set([keyword, "const", "default", "enum", "examples"])

/** Finds the parameters that a tool wants as headers; fails with the reason why its schema is invalid. */
export const findParamHeaders = (inputSchema: unknown): Result.Result<ReadonlyArray<ParamHeader>, string> => {
  const found = new Map<string, ParamHeader>()
  const faults: Array<string> = []
  const declare = (schema: JsonObject, path: ReadonlyArray<string> | undefined): void => {
    const name = asString(schema[keyword]) ?? ""
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) faults.push(`${keyword} is not the name of a header`)
    else if (path === undefined || path.length === 0) faults.push(`${keyword} is not at a parameter`)
    else if (!["string", "integer", "boolean"].includes(String(schema["type"]))) {
      faults.push(`${keyword} is at a parameter that is not a string, an integer or a boolean`)
    } else if (found.has(name.toLowerCase())) faults.push(`two parameters have the header ${name}`)
    else found.set(name.toLowerCase(), { header: `Mcp-Param-${name}`, path })
  }
  /** Visits a schema at the path of `properties` that leads to it, if there is one. */
  const visit = (schema: unknown, path: ReadonlyArray<string> | undefined): void => {
    if (Array.isArray(schema)) for (const item of schema) visit(item, undefined)
    if (!isJsonObject(schema)) return
    if (keyword in schema) declare(schema, path)
    for (const [name, child] of Object.entries(schema).filter(([one]) => !valueKeywords.has(one))) {
      const below = name === "properties" ? path : undefined
      if (!schemaMapKeywords.has(name) || !isJsonObject(child)) visit(child, undefined)
      else for (const [key, one] of Object.entries(child)) visit(one, below && [...below, key])
    }
  }
  visit(inputSchema, [])
  return faults[0] === undefined ? Result.succeed([...found.values()]) : Result.fail(faults[0])
}

/** A text as the value of a header; encoded unless it is plain ASCII that no parser trims or decodes. */
const encodeHeaderValue = (text: string): string =>
  /^(?!=\?base64\?)[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text)
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`

/** The headers of a call. Values that are missing, null or of another type have none. */
export const paramHeadersOf = (
  declared: ReadonlyArray<ParamHeader>,
  params: unknown
): { readonly [header: string]: string } =>
  Object.fromEntries(
    declared.flatMap(({ header, path }) => {
      const value = path.reduce<unknown>((at, key) => asObject(at)[key], params)
      const isExact = typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value)
      return isExact ? [[header, encodeHeaderValue(String(value))]] : []
    })
  )

/** Sends the parameters of calls as headers; gives the function that learns them from the lists of tools. */
export const sendParamHeaders = (transport: StreamableHTTPClientTransport) => {
  const headersByTool = new Map<unknown, ReadonlyArray<ParamHeader>>()
  const send = transport.send.bind(transport)
  transport.send = (message, options) => {
    const { method, params } = asObject(message)
    const { arguments: given, name } = asObject(params)
    const declared = method === "tools/call" ? headersByTool.get(name) : undefined
    return declared === undefined || declared.length === 0
      ? send(message, options)
      : send(message, { ...options, headers: paramHeadersOf(declared, given) })
  }
  return <Requests extends Pick<McpSession, "callTool" | "listTools">>(requests: Requests): Requests => {
    /** Lists tools without those whose calls would have ambiguous headers, as MCP requires. */
    const listTools: McpSession["listTools"] = Effect.fnUntraced(function* (cursor) {
      const { items, nextCursor } = yield* requests.listTools(cursor)
      const valid: Array<JsonObject> = []
      for (const item of items) {
        const declared = findParamHeaders(item["inputSchema"])
        const { name } = item
        headersByTool.set(
          name,
          Result.getOrElse(declared, () => [])
        )
        if (Result.isSuccess(declared)) valid.push(item)
        else yield* Effect.logWarning("tool omitted from listing", { tool: name, reason: declared.failure })
      }
      return { items: valid, nextCursor }
    })
    /** A server that misses a header has changed its tools, and has not run the call. */
    const callTool: McpSession["callTool"] = (...call) =>
      Effect.catchIf(
        requests.callTool(...call),
        ({ code }) => code === jsonRpcCodes.missingHeader,
        () => Effect.andThen(listAllPages(listTools), requests.callTool(...call))
      )
    return { ...requests, callTool, listTools }
  }
}
