import { isJsonObject } from "../../../src/domain/json.ts"
import type { Child } from "../../adapters/mcp/client/stdio/childrenInMemory.ts"
import { type HostilePeer, honestMessage, inPieces, listChanged, makePlays, makeTurns } from "./mcpPeer.ts"

const newline = "\n"

/** An MCP server over stdio. It sends the played input before the reply, which may then be the second one. */
export const makeStdioPeer = (name: string): HostilePeer & Child => {
  const { play, played, take } = makePlays()
  const { callsOf, note } = makeTurns()
  let write: (bytes: Uint8Array) => void = () => undefined
  let rest = ""

  const answer = (line: string): void => {
    const message: unknown = JSON.parse(line)
    if (!isJsonObject(message) || typeof message["method"] !== "string" || !("id" in message)) return
    const { id, method } = message
    const params = isJsonObject(message["params"]) ? message["params"] : {}
    note(method, params)
    const instead = take(method, id)
    if (instead !== undefined) write(Buffer.concat([instead, Buffer.from(newline)]))
    write(Buffer.from(honestMessage(name, id, method, params) + newline))
  }

  return {
    name,
    started: (to) => {
      write = to
      rest = ""
    },
    received: (bytes) => {
      const lines = (rest + Buffer.from(bytes).toString("utf8")).split(newline)
      rest = lines.pop() ?? ""
      for (const line of lines) answer(line)
    },
    play,
    played,
    print: (bytes, random) => {
      for (const piece of inPieces(bytes, random)) write(piece)
      write(Buffer.from(newline))
    },
    notifyChanged: (what) => write(Buffer.from(listChanged(what) + newline)),
    callsOf
  }
}
