import { io } from "socket.io-client"
import { callSeconds, path } from "../limits.ts"
import { Calls } from "./Calls.ts"
import type { Dialect } from "./Dialect.ts"
import { lightPeersOf } from "./light.ts"
import type { Fail, Pair, Peers } from "./Peers.ts"

/** The checked part of a result: this client parses every body. */
interface CallToolResult {
  readonly content: ReadonlyArray<{ readonly text: string }>
}

type Role = "agent" | "computer"

const join = async (address: string, role: Role, number: number, dialect: Dialect, fail: Fail) => {
  const socket = io(`http://${address}${path}`, {
    path: dialect.path,
    query: { a2c_version: dialect.version },
    auth: { role },
    transports: ["websocket"],
    forceNew: true,
    reconnection: false
  })
  const lost = (reason: string) => fail(`${role}-${number}: ${reason}`)
  socket.on("connect_error", (error) => lost(error.message))
  await new Promise<void>((resolve) => socket.once("connect", resolve))
  socket.on("disconnect", lost)
  await new Promise<void>((resolve, reject) => {
    const session = { role, name: `${role}-${number}`, office_id: `office-${number}` }
    socket.emit("server:join_office", session, (ok: boolean, why: string | null) =>
      ok ? resolve() : reject(new Error(`${role}-${number} may not join: ${why}`))
    )
  })
  return socket
}

/** Pairs on `socket.io-client`. They do the work of real peers, so the load generator limits the rate sooner. */
export const officialPeersOf = (dialect: Dialect): Peers => ({
  ...lightPeersOf(dialect),
  pair: async (place, number, payload, fail): Promise<Pair> => {
    const result: CallToolResult = JSON.parse(payload.result(number))
    const params: unknown = JSON.parse(payload.params)
    const calls = new Calls(fail)
    const computer = await join(place.computers, "computer", number, dialect, fail)
    computer.on("client:tool_call", (_call: unknown, ack: (result: CallToolResult) => void) => ack(result))
    const agent = await join(place.agents, "agent", number, dialect, fail)
    const isRight = (answer: Partial<CallToolResult> | undefined) =>
      answer?.content?.length === result.content.length &&
      answer.content[0]?.text === result.content[0]?.text &&
      answer.content.at(-1)?.text === result.content.at(-1)?.text
    return {
      call: (done) => {
        const id = calls.add(done)
        const call = {
          agent: `agent-${number}`,
          req_id: String(id).padStart(32, "0"),
          computer: `computer-${number}`,
          tool_name: "bench__tool",
          params,
          timeout: callSeconds
        }
        agent.emit("client:tool_call", call, (answer: Partial<CallToolResult> | undefined) =>
          calls.end(id, isRight(answer), () => JSON.stringify(answer).slice(0, 200))
        )
      }
    }
  }
})
