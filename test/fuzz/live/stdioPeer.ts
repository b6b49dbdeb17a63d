import type { Child } from "../../adapters/mcp/client/stdio/childrenInMemory.ts"
import { makeStdio, parseMessage } from "./jsonRpc.ts"
import { type HostilePeer, honestMessage, inPieces, listChanged, makePlays, makeTurns } from "./mcpPeer.ts"

const newline = "\n"

/** An MCP server over stdio. It sends the played input before the reply, which may then be the second one. */
export const makeStdioPeer = (name: string): HostilePeer & Child => {
  const { play, played, take } = makePlays()
  const { callsOf, note } = makeTurns()
  const { child, write } = makeStdio((line) => {
    const { id, method, params } = parseMessage(line)
    if (typeof method !== "string" || id === undefined) return
    note(method, params)
    const instead = take(method, id)
    if (instead !== undefined) write(Buffer.concat([instead, Buffer.from(newline)]))
    write(honestMessage(name, id, method, params) + newline)
  })
  return {
    ...child,
    name,
    play,
    played,
    print: (bytes, random) => {
      for (const piece of inPieces(bytes, random)) write(piece)
      write(newline)
    },
    notifyChanged: (what) => write(listChanged(what) + newline),
    callsOf
  }
}
