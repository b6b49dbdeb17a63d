import { isJsonObject, type JsonObject } from "../../../src/domain/json.ts"
import { oneIn, type Random } from "../random.ts"
import { formatResponse } from "./jsonRpc.ts"

/** When an MCP server sends a message: in reply to a request, or unsolicited. */
const moments = {
  initialize: "hello",
  "tools/list": "tools",
  "tools/call": "call",
  "resources/list": "resources",
  "resources/read": "read",
  "resources/subscribe": "subscribe",
  // HTTP only: an accepted notification, the notification stream, the end of a session.
  "notifications/initialized": "accept",
  GET: "listen",
  DELETE: "leave"
} as const

/** The keyword of a moment at the beginning of an input. */
export type Moment = (typeof moments)[keyof typeof moments] | "say"

/** The moment for the reply to a request. */
const momentOf = (method: string): Moment | undefined =>
  Object.hasOwn(moments, method) ? moments[method as keyof typeof moments] : undefined

const isMoment = (word: string): word is Moment => word === "say" || Object.values<string>(moments).includes(word)

/** Splits an input into its moment and message. Without a keyword the message is unsolicited. */
export const readInput = (input: Buffer): { readonly moment: Moment; readonly output: Buffer } => {
  const space = input.indexOf(" ")
  const word = input.toString("latin1", 0, Math.max(0, space))
  return isMoment(word) ? { moment: word, output: input.subarray(space + 1) } : { moment: "say", output: input }
}

/** The placeholder in inputs for the id of the request. */
export const idWord = "@id"

/** The placeholder in inputs for a counter. */
const countWord = "@n"

/** Replaces the placeholders of an input. */
const fill = (output: Buffer, id: unknown, count: number): Buffer =>
  Buffer.from(
    output
      .toString("latin1")
      .replaceAll(JSON.stringify(idWord), () => JSON.stringify(id) ?? "null")
      .replaceAll(countWord, String(count)),
    "latin1"
  )

/** The tool of a server, which echoes its arguments. */
export const toolOf = (name: string): string => `ask-${name}`

/** The window of a server. */
export const windowOf = (name: string): string => `window://${name}/main`

/** The document of a server. */
export const documentOf = (name: string): string => `dpe://${name}/doc`

/** The text of the window of a server. */
export const windowText = (name: string): string => `this is the window of ${name}`

/** The result of a correct server with a tool, a window and a document; `undefined` for unknown methods. */
const honestAnswer = (name: string, method: string, params: JsonObject): JsonObject | undefined => {
  switch (method) {
    case "initialize":
      return {
        protocolVersion: params["protocolVersion"],
        capabilities: { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
        serverInfo: { name, version: "1" }
      }
    case "tools/list":
      return { tools: [{ name: toolOf(name), inputSchema: { type: "object" } }] }
    case "tools/call":
      return { content: [{ type: "text", text: JSON.stringify(params["arguments"]) }] }
    case "resources/list":
      return {
        resources: [
          { uri: windowOf(name), name: "main" },
          { uri: documentOf(name), name: "doc", _meta: { page_count: 1 } }
        ]
      }
    case "resources/read":
      return { contents: [{ uri: params["uri"], text: windowText(name) }] }
    case "ping":
    case "resources/subscribe":
    case "resources/unsubscribe":
      return {}
    default:
      return undefined
  }
}

/** The JSON-RPC reply of a correct server, an error for unknown methods. */
export const honestMessage = (name: string, id: unknown, method: string, params: JsonObject): string =>
  formatResponse(id, honestAnswer(name, method, params))

/** The messages of an input and their maximum number of repetitions. */
export interface Play {
  readonly moment: Moment
  readonly output: Buffer
  readonly times: number
}

/** An MCP server that replies correctly unless an input is played. */
export interface HostilePeer {
  readonly name: string
  readonly play: (play: Play | undefined) => void
  /** Waits until the played input has been sent. */
  readonly played: () => Promise<void>
  /** Writes unsolicited raw bytes in random chunks. */
  readonly print: (bytes: Buffer, random: Random) => void
  /** Notifies of changed listings. */
  readonly notifyChanged: (what: "tools" | "resources") => void
  /** The number of tool calls of a recent turn. */
  readonly callsOf: (turn: number) => number
}

/** The notification of a changed listing. */
export const listChanged = (what: "tools" | "resources"): string =>
  JSON.stringify({ jsonrpc: "2.0", method: `notifications/${what}/list_changed` })

/** Splits bytes into chunks, often into one. */
export const inPieces = (bytes: Buffer, random: Random): ReadonlyArray<Buffer> => {
  const pieces: Array<Buffer> = []
  let left = bytes
  while (left.length > 0 && oneIn(random, 2)) {
    const size = 1 + random(left.length)
    pieces.push(left.subarray(0, size))
    left = left.subarray(size)
  }
  return [...pieces, left]
}

/** The number of counted turns. */
const maxTurns = 16

/** Counts the calls of a tool by turn. */
export const makeTurns = () => {
  let turns: ReadonlyArray<number> = []
  return {
    note: (method: string, { arguments: args }: JsonObject): void => {
      if (method !== "tools/call" || !isJsonObject(args)) return
      turns = [...turns, Number(args["turn"])].slice(-maxTurns)
    },
    callsOf: (turn: number): number => turns.filter((one) => one === turn).length
  }
}

/** The played inputs of one malicious server, one at a time. */
export const makePlays = () => {
  let play: Play | undefined
  let left = 0
  let count = 0
  let notified: () => void = () => undefined
  return {
    play: (next: Play | undefined): void => {
      play = next
      left = next?.times ?? 0
    },
    /** The message to send at this moment, before the reply or in its place. */
    take: (method: string, id: unknown): Buffer | undefined => {
      if (play === undefined || left === 0 || momentOf(method) !== play.moment) return undefined
      left -= 1
      count += 1
      notified()
      return fill(play.output, id, count)
    },
    played: (): Promise<void> =>
      new Promise((resolve) => {
        notified = resolve
      })
  }
}
