import { isJsonObject, type JsonObject } from "../../../src/domain/json.ts"
import { oneIn, type Random } from "../random.ts"

/** When a server of MCP says something: as the answer to a request, or unasked. */
const moments = {
  initialize: "hello",
  "tools/list": "tools",
  "tools/call": "call",
  "resources/list": "resources",
  "resources/read": "read",
  "resources/subscribe": "subscribe",
  // Of HTTP: a notification that is accepted, the stream of notifications, the end of a session.
  "notifications/initialized": "accept",
  GET: "listen",
  DELETE: "leave"
} as const

/** The word of a moment, by which inputs begin. */
export type Moment = (typeof moments)[keyof typeof moments] | "say"

/** The moment to answer a request. */
const momentOf = (method: string): Moment | undefined =>
  Object.hasOwn(moments, method) ? moments[method as keyof typeof moments] : undefined

const isMoment = (word: string): word is Moment =>
  word === "say" || Object.values<string>(moments).includes(word)

/** What an input is: when it is said, and what. Without a word it is said unasked. */
export const readInput = (input: Buffer): { readonly moment: Moment; readonly output: Buffer } => {
  const space = input.indexOf(" ")
  const word = input.toString("latin1", 0, Math.max(0, space))
  return isMoment(word)
    ? { moment: word, output: input.subarray(space + 1) }
    : { moment: "say", output: input }
}

/** Stands in inputs for the id of the request that is answered. */
export const idWord = "@id"

/** Stands in inputs for a number that is another one each time. */
const countWord = "@n"

/** An input with what its words stand for. */
const fill = (output: Buffer, id: unknown, count: number): Buffer =>
  Buffer.from(
    output
      .toString("latin1")
      .replaceAll(JSON.stringify(idWord), () => JSON.stringify(id) ?? "null")
      .replaceAll(countWord, String(count)),
    "latin1"
  )

/** The one tool of a server; it gives back what it is given. */
export const toolOf = (name: string): string => `ask-${name}`

/** The one window of a server. */
export const windowOf = (name: string): string => `window://${name}/main`

/** The one document of a server. */
export const documentOf = (name: string): string => `dpe://${name}/doc`

/** What the window of a server shows. */
export const windowText = (name: string): string => `this is the window of ${name}`

/** What a server that means well answers, which has a tool, a window and a document; nothing where it knows no answer. */
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

/** The same as a JSON-RPC message, with the error that says so where there is no answer. */
export const honestMessage = (name: string, id: unknown, method: string, params: JsonObject): string => {
  const result = honestAnswer(name, method, params)
  const answer = result === undefined ? { error: { code: -32601, message: "Method not found" } } : { result }
  return JSON.stringify({ jsonrpc: "2.0", id, ...answer })
}

/** What an input has a server say, and how often it is said at most. */
export interface Play {
  readonly moment: Moment
  readonly output: Buffer
  readonly times: number
}

/** An MCP server that answers as it should unless it has something to play. */
export interface HostilePeer {
  readonly name: string
  readonly play: (play: Play | undefined) => void
  /** Waits until what is played has been said. */
  readonly played: () => Promise<void>
  /** Writes bytes nobody asked for, as they are, in pieces as chance will have them. */
  readonly say: (bytes: Buffer, random: Random) => void
  /** Tells that what it lists has changed. */
  readonly tellChanged: (what: "tools" | "resources") => void
  /** How often its tool was called with this turn, one of the last. */
  readonly callsOf: (turn: number) => number
}

/** The notification that what a server lists has changed. */
export const listChanged = (what: "tools" | "resources"): string =>
  JSON.stringify({ jsonrpc: "2.0", method: `notifications/${what}/list_changed` })

/** Bytes in pieces, often in a single one. */
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

/** Calls that are remembered. */
const mostTurns = 16

/** Counts the calls of a tool by the turn that they name. */
export const makeTurns = () => {
  let turns: ReadonlyArray<number> = []
  return {
    note: (method: string, { arguments: args }: JsonObject): void => {
      if (method !== "tools/call" || !isJsonObject(args)) return
      turns = [...turns, Number(args["turn"])].slice(-mostTurns)
    },
    callsOf: (turn: number): number => turns.filter((one) => one === turn).length
  }
}

/** The plays of one server that means no good: at most one at a time. */
export const makePlays = () => {
  let play: Play | undefined
  let left = 0
  let count = 0
  let told: () => void = () => undefined
  return {
    play: (next: Play | undefined): void => {
      play = next
      left = next?.times ?? 0
    },
    /** What is said when this is asked, instead of the answer or before it. */
    take: (method: string, id: unknown): Buffer | undefined => {
      if (play === undefined || left === 0 || momentOf(method) !== play.moment) return undefined
      left -= 1
      count += 1
      told()
      return fill(play.output, id, count)
    },
    played: (): Promise<void> =>
      new Promise((resolve) => {
        told = resolve
      })
  }
}
