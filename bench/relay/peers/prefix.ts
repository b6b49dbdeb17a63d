import { agentOf, computerOf, nameLength } from "../prefix.ts"
import { Calls } from "./Calls.ts"
import type { Pair, Peers } from "./Peers.ts"
import { endsWith, openSocket, prepare, readDigits } from "./socket.ts"

const excerpt = (message: Buffer) => message.toString("utf8", 0, 200)

/** Peers of the bare relay. A message has the name of its receiver, the call number, and a body. */
export const prefixPeers: Peers = {
  pair: async (place, number, { params, result }, fail): Promise<Pair> => {
    const agent = agentOf(number)
    const computer = computerOf(number)
    const expected = Buffer.from(`[${result(number)}]`)
    const answer = prepare(expected.toString())
    const request = prepare(`["client:tool_call",{"params":${params}}]`)
    const calls = new Calls(fail)
    await openSocket(
      `ws://${place.computers}/${computer}`,
      (message, from) => from.send(answer(`${agent}${readDigits(message, nameLength).value}`)),
      fail
    )
    const calling = await openSocket(
      `ws://${place.agents}/${agent}`,
      (message) => {
        const { end, value } = readDigits(message, nameLength)
        calls.end(value, endsWith(message, end, expected), () => excerpt(message))
      },
      fail
    )
    return {
      call: (done) => calling.send(request(`${computer}${calls.add(done)}`))
    }
  },
  idle: async (place, number, fail) => {
    await openSocket(`ws://${place.computers}/${computerOf(number)}`, () => undefined, fail)
  },
  flood: { path: `/${agentOf(9_999_999)}`, greeting: [], message: `${computerOf(9_999_999)}0[]` }
}
