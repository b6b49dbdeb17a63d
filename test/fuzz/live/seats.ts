import { connectText, eventText } from "../../attacks/wire.ts"

/** What a member says to be let in, and to sit in the office of its lane; the answers begin like this. */
export interface Entrance {
  readonly connect: string
  readonly connected: string
  readonly join: string
  readonly joined: string
}

/** Lanes in twos: an Agent and a Computer, which meet in one office. */
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

/** A question that the Server always answers, unless it closes the connection. */
export const fence = (id: number) => ({
  text: eventText(id, "server:nonsense", null),
  answer: `43/smcp,${id}[`
})

/** Numbers of fences begin here, where no input's own do. */
export const firstFence = 700_000_000

/** The numbers of requests that a member has been asked, in a text it heard. */
export const askedIn = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/42\/smcp,(\d+)\["client:/g)].map(([, id = ""]) => id)

/** An answer among the inputs as one to what was asked, where something was. */
export const answering = (input: Buffer, asked: Array<string>): Buffer => {
  if (asked.length === 0 || input[0] !== 0x33) return input
  const text = input.toString("latin1")
  const id = asked.shift() ?? ""
  return Buffer.from(text.replace(/^3\/smcp,\d*/, `3/smcp,${id}`), "latin1")
}

/** The byte by which Engine.IO marks a message. */
export const message = Buffer.from("4")
