import type { ServerResponse } from "node:http"
import { Effect, type Scope, Stream } from "effect"
import { type McpSession, McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json.ts"
import type { Child } from "../../adapters/mcp/client/stdio/childrenInMemory.ts"
import {
  eventStreamHead,
  formatResponse,
  type HandleRequest,
  listenByPath,
  makeStdio,
  parseMessage
} from "./jsonRpc.ts"
import { idWord } from "./mcpPeer.ts"

/** The lists of an MCP server. */
export const lists = ["tools", "resources", "resourceTemplates", "prompts"] as const
export type List = (typeof lists)[number]

const listOf: { readonly [method: string]: List } = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts"
}

/** What announces a change of a list; templates belong to the resources. */
export const noticeOf = (list: List): string =>
  `notifications/${list === "resourceTemplates" ? "resources" : list}/list_changed`

/** How an odd server reaches its Computer. */
export const ways = ["stdio", "json", "stream", "sse"] as const
/** A direct one is a session in this process, which is served without a Computer. */
type Way = (typeof ways)[number] | "direct"

/** The requests whose whole result can be odd. */
type OddMethod = "prompts/get" | "resources/read"

/** An MCP server that is correct, except for what it is given to list, to answer and to send. */
export interface OddServer {
  readonly name: string
  readonly way: Way
  /** Replaces a list. */
  readonly list: (list: List, items: ReadonlyArray<unknown>) => void
  /** The result of each following request of a method; `undefined` for the usual one. */
  readonly reply: (method: OddMethod, result: unknown) => void
  /** The response to each following call; `undefined` for the usual result. {@link idWord} stands for the id. */
  readonly respond: (response: string | undefined) => void
  /** The bytes of the HTTP response to the next call. */
  readonly respondRaw: (bytes: Buffer) => void
  /** Sends an unsolicited message. */
  readonly send: (message: string) => void
  /** The number of calls that arrived. */
  readonly calls: () => number
}

/** The name of the tool, and of the prompt, that work at every odd server. */
export const plainTool = (server: string): string => `plain-${server}`

/** The resource that every odd server gives. */
export const plainUri = "plain://1"

/** A part that answers messages, without the way they arrive. */
const makeAnswers = (server: string) => {
  const listed = new Map<List, ReadonlyArray<unknown>>()
  const replies = new Map<string, unknown>()
  let response: string | undefined
  let calls = 0
  const resultOf = (method: string, params: JsonObject): unknown => {
    const list = listOf[method]
    if (replies.has(method)) return replies.get(method)
    if (list === "tools")
      return { tools: [{ name: plainTool(server), inputSchema: { type: "object" } }, ...(listed.get(list) ?? [])] }
    if (list === "prompts") return { prompts: [{ name: plainTool(server) }, ...(listed.get(list) ?? [])] }
    if (list !== undefined) return { [list]: listed.get(list) ?? [] }
    switch (method) {
      case "initialize":
        return {
          protocolVersion: params["protocolVersion"],
          capabilities: {
            tools: { listChanged: true },
            resources: { listChanged: true, subscribe: true },
            prompts: { listChanged: true }
          },
          serverInfo: { name: "odd", version: "1" }
        }
      case "tools/call":
        return { content: [{ type: "text", text: "fine" }] }
      case "resources/read":
        return { contents: [{ uri: params["uri"], text: "contents" }] }
      case "ping":
      case "resources/subscribe":
      case "resources/unsubscribe":
        return {}
      default:
        return undefined
    }
  }
  return {
    list: (list: List, items: ReadonlyArray<unknown>): void => void listed.set(list, items),
    reply: (method: OddMethod, result: unknown): void => {
      if (result === undefined) replies.delete(method)
      else replies.set(method, result)
    },
    respond: (next: string | undefined): void => {
      response = next
    },
    calls: () => calls,
    /** The response to a request. */
    answer: (id: unknown, method: string, params: JsonObject): string => {
      if (method === "tools/call") {
        calls += 1
        if (response !== undefined) return response.replaceAll(JSON.stringify(idWord), () => JSON.stringify(id))
      }
      return formatResponse(id, resultOf(method, params))
    }
  }
}

const unknownMethod = new McpSessionError({ reason: "unsupported", message: "Method not found" })

/** An odd server as a session in this process. */
export const makeDirectServer = (name: string): { readonly server: OddServer; readonly session: McpSession } => {
  const { answer, ...answers } = makeAnswers(name)
  /** A client of MCP gives objects alone. */
  const request = (method: string, params: JsonObject) =>
    Effect.suspend((): Effect.Effect<JsonObject, McpSessionError> => {
      const { result } = JSON.parse(answer(1, method, params)) as JsonObject
      return isJsonObject(result) ? Effect.succeed(result) : Effect.fail(unknownMethod)
    })
  const items = (method: string, member: string) =>
    Effect.map(request(method, {}), ({ [member]: listed }) => (Array.isArray(listed) ? listed : []) as never)
  const page = (method: string, member: string) => () =>
    Effect.map(items(method, member), (listed) => ({ items: listed, nextCursor: undefined }))
  return {
    server: { ...answers, name, way: "direct", send: () => undefined, respondRaw: () => undefined },
    session: {
      info: {
        name,
        version: "1",
        protocolVersion: undefined,
        capabilities: { tools: true, resources: true, subscribe: false, prompts: true },
        instructions: undefined
      },
      listTools: page("tools/list", "tools"),
      listResources: page("resources/list", "resources"),
      readResource: (uri) =>
        Effect.map(request("resources/read", { uri }), ({ contents }) => [contents].flat() as never),
      callTool: (tool, params) => request("tools/call", { name: tool, arguments: params }),
      request,
      watch: () => Effect.succeed(Stream.never),
      ping: Effect.void,
      closed: Effect.never
    }
  }
}

/** An odd server over stdio, as a fake child process. */
export const makeStdioServer = (name: string): OddServer & Child => {
  const { answer, ...answers } = makeAnswers(name)
  const { child, write } = makeStdio((line) => {
    const { id, method, params } = parseMessage(line)
    if (id !== undefined) send(answer(id, String(method), params))
  })
  const send = (message: string) => write(`${message}\n`)
  return { ...child, ...answers, name, way: "stdio", send, respondRaw: () => undefined }
}

/** An event may not hold a line break: a message with one takes several lines. */
const eventOf = (message: string): string =>
  `${message
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join("")}\n`

type HttpWay = Exclude<Way, "stdio" | "direct">

const makeHttpServerOf = (name: string, way: HttpWay) => {
  const { answer, ...answers } = makeAnswers(name)
  let stream: ServerResponse | undefined
  let raw: Buffer | undefined
  const send = (message: string) => void stream?.write(eventOf(message))
  const reply = (response: ServerResponse, message: string): void => {
    if (way === "stream") response.writeHead(200, eventStreamHead).end(eventOf(message))
    else response.writeHead(200, { "Content-Type": "application/json" }).end(message)
  }
  const serve: HandleRequest = (request, response, body) => {
    // It keeps nothing of a stream that has ended.
    if (request.headers["last-event-id"] !== undefined) {
      response.writeHead(405).end()
      return
    }
    if (request.method === "GET") {
      stream = response.writeHead(200, eventStreamHead)
      stream.write(way === "sse" ? `event: endpoint\ndata: ?post\n\n` : ":\n\n")
      return
    }
    const { id, params, ...called } = parseMessage(body)
    const method = String(called.method)
    if (request.method !== "POST" || id === undefined) {
      response.writeHead(request.method === "POST" ? 202 : 200).end()
      return
    }
    const message = answer(id, method, params)
    if (raw !== undefined && method === "tools/call") {
      request.socket.end(raw)
      raw = undefined
    } else if (way === "sse") {
      response.writeHead(202).end()
      send(message)
    } else reply(response, message)
  }
  const server: OddServer = {
    ...answers,
    name,
    way,
    send,
    respondRaw: (bytes) => {
      raw = bytes
    }
  }
  return { serve, server }
}

/** Odd servers over HTTP on a loopback listener, with their addresses. */
export const startHttpServers = (
  names: ReadonlyArray<readonly [name: string, way: HttpWay]>
): Effect.Effect<ReadonlyArray<OddServer & { readonly url: string }>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const byPath = new Map(names.map(([name, way]) => [`/${name}`, makeHttpServerOf(name, way)]))
    const origin = yield* listenByPath(byPath)
    return [...byPath].map(([path, { server }]) => ({ ...server, url: origin + path }))
  })
