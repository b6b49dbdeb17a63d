import { connectText, eventText } from "../../attacks/wire.ts"

/** The messages by which a member connects and joins the office of its lane, with the prefixes of the replies. */
export interface Entrance {
  readonly connect: string
  readonly connected: string
  readonly join: string
  readonly joined: string
}

/** Pairs of lanes: an Agent and a Computer in one office. */
export const entranceOf = (lane: number): Entrance => {
  const role = lane % 2 === 0 ? "agent" : "computer"
  const name = lane % 2 === 0 ? "a-0" : "c-0"
  return {
    connect: connectText({ role }),
    connected: "40/smcp,",
    join: eventText(0, "server:join_office", { role, name, office_id: `o-${Math.floor(lane / 2)}` }),
    joined: "43/smcp,0["
  }
}

/** A request that the Server always answers, unless it closes the connection. */
export const fence = (id: number) => ({
  text: eventText(id, "server:nonsense", null),
  answer: `43/smcp,${id}[`
})

/** The first ack id of fences, above those in inputs. */
export const firstFence = 700_000_000

/** The ack ids of requests in the received text. */
export const requestedIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/42\/smcp,(\d+)\["client:/g)].map(([, id = ""]) => id)

/** Turns a reply among the inputs into a reply to an open request, if there is one. */
export const answering = (input: Buffer, requests: Array<string>): Buffer => {
  if (requests.length === 0 || input[0] !== 0x33) return input
  const text = input.toString("latin1")
  const id = requests.shift() ?? ""
  return Buffer.from(text.replace(/^3\/smcp,\d*/, `3/smcp,${id}`), "latin1")
}

/** The message marker of Engine.IO. */
export const message = Buffer.from("4")
