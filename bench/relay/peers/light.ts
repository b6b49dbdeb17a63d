import { officeKeyOf, officeQueryParameter } from "../../../src/domain/office/officeKey.ts"
import { callSeconds, path } from "../limits.ts"
import { Calls } from "./Calls.ts"
import { type Dialect, forwarded } from "./Dialect.ts"
import type { Fail, Pair, Peers } from "./Peers.ts"
import { endsWith, openSocket, prepare, readDigits, type TextSocket } from "./socket.ts"

const handshakeOf = ({ namesOffice = false, path: at, version }: Dialect, office?: string) => {
  const named = namesOffice && office !== undefined ? `&${officeQueryParameter}=${officeKeyOf(office)}` : ""
  return `${at}/?EIO=4&transport=websocket&a2c_version=${version}${named}`
}

/** First bytes of packets: Engine.IO's ping, and Socket.IO's types within a message. */
const ping = "2".charCodeAt(0)
const types = { connect: "0", event: "2", ack: "3", error: "4" } as const
const start = (type: keyof typeof types) => `4${types[type]}${path},`
const bodyAt = start("event").length

/** The acknowledgement id of the join; calls use the next ones. */
const joining = 0

interface Packet {
  readonly type: string
  readonly id: number | undefined
  /** The index of the arguments. */
  readonly at: number
  readonly bytes: Buffer
}

const read = (bytes: Buffer): Packet => {
  const { end, value } = readDigits(bytes, bodyAt)
  return {
    type: String.fromCharCode(bytes[1] ?? 0),
    id: end === bodyAt ? undefined : value,
    at: end,
    bytes
  }
}

const excerpt = ({ bytes }: Packet) => bytes.toString("utf8", 0, 200)

interface Session {
  readonly role: "agent" | "computer"
  readonly name: string
  readonly office: string
}

const connectText = (role: Session["role"]) => `${start("connect")}${JSON.stringify({ role })}`
const joinText = ({ name, office, role }: Session) =>
  `${start("event")}${joining}${JSON.stringify(["server:join_office", { role, name, office_id: office }])}`
const updateText = (computer: string) => `${start("event")}${JSON.stringify(["server:update_tool_list", { computer }])}`
const joinedText = `${start("ack")}${joining}[true`

/** A connection in the namespace. */
interface Connected {
  readonly socket: TextSocket
  /** Replaces the receiver of messages. */
  readonly receive: (onMessage: (message: Buffer) => void) => void
  readonly lost: Promise<never>
}

const connect = async (
  address: string,
  { office, role }: Pick<Session, "role"> & { readonly office?: string },
  dialect: Dialect,
  fail: Fail
): Promise<Connected> => {
  const connected = Promise.withResolvers<void>()
  const lost = Promise.withResolvers<never>()
  lost.promise.catch(() => undefined)
  const onLost = (reason: string) => {
    lost.reject(new Error(`${role}: ${reason}`))
    fail(`${role}: ${reason}`)
  }
  let onMessage = (message: Buffer, from: TextSocket) => {
    const text = message.toString()
    if (text.startsWith("0")) from.send(connectText(role))
    else if (text.startsWith(start("connect"))) connected.resolve()
    else onLost(`refused: ${text}`)
  }
  const socket = await openSocket(
    `ws://${address}${handshakeOf(dialect, office)}`,
    (message, from) => {
      if (message.length === 1 && message[0] === ping) from.send("3")
      else onMessage(message, from)
    },
    onLost
  )
  await Promise.race([connected.promise, lost.promise])
  return {
    socket,
    receive: (next) => {
      onMessage = next
    },
    lost: lost.promise
  }
}

/** Joins an office. Later messages go to `onMessage`. */
const joinOffice = async (
  { lost, receive, socket }: Connected,
  session: Session,
  onMessage: (packet: Packet) => void
) => {
  const joined = Promise.withResolvers<void>()
  receive((message) => {
    const text = message.toString()
    if (text.startsWith(joinedText)) joined.resolve()
    else if (!text.startsWith(start("event"))) joined.reject(new Error(`${session.name} may not join: ${text}`))
  })
  socket.send(joinText(session))
  await Promise.race([joined.promise, lost])
  receive((message) => onMessage(read(message)))
}

/** Connects and joins. Later messages go to `onMessage`. */
const join = async (
  address: string,
  session: Session,
  dialect: Dialect,
  onMessage: (packet: Packet) => void,
  fail: Fail
): Promise<TextSocket> => {
  const connection = await connect(address, session, dialect, fail)
  await joinOffice(connection, session, onMessage)
  return connection.socket
}

const sessionOf = (role: Session["role"], number: number): Session => ({
  role,
  name: `${role}-${number}`,
  office: `office-${number}`
})

/** Request ids are as long as those of real Agents. */
const requestId = (call: number) => String(call).padStart(32, "0")

/** Peers with a handwritten Socket.IO and prepared bodies. They cost about as much as those of the bare relay. */
export const lightPeersOf = (dialect: Dialect): Peers => {
  let newcomers = 0
  return {
    pair: async (place, number, { params, result }, fail): Promise<Pair> => {
      const sent = `[${result(number)}]`
      const answer = prepare(sent)
      const expected = Buffer.from(forwarded(sent, dialect))
      const rest = {
        agent: sessionOf("agent", number).name,
        computer: sessionOf("computer", number).name,
        tool_name: "bench__tool",
        timeout: callSeconds
      }
      const request = prepare(`,${JSON.stringify(rest).slice(1, -1)},"params":${params}}]`)
      const calls = new Calls(fail)
      const computer = await join(
        place.computers,
        sessionOf("computer", number),
        dialect,
        (packet) => {
          if (packet.type !== types.event) fail(`a Computer got ${excerpt(packet)}`)
          else if (packet.id !== undefined) computer.send(answer(`${start("ack")}${packet.id}`))
        },
        fail
      )
      const agent = await join(
        place.agents,
        sessionOf("agent", number),
        dialect,
        (packet) => {
          if (packet.type === types.event) return
          if (packet.type !== types.ack || packet.id === undefined) fail(`an Agent got ${excerpt(packet)}`)
          else calls.end(packet.id, endsWith(packet.bytes, packet.at, expected), () => excerpt(packet))
        },
        fail
      )
      return {
        call: (done) => {
          const id = calls.add(done)
          agent.send(request(`${start("event")}${id}["client:tool_call",{"req_id":"${requestId(id)}"`))
        }
      }
    },
    idle: async (place, number, fail) => {
      await join(place.computers, sessionOf("computer", number), dialect, () => undefined, fail)
    },
    connect: async ({ computers }, fail) => {
      const connection = await connect(computers, { role: "computer" }, dialect, fail)
      newcomers += 1
      const suffix = dialect.needsUniqueNames ? `-${newcomers}` : ""
      return {
        join: (office, name, onNotification) =>
          joinOffice(connection, { role: "computer", name: name + suffix, office }, (packet) => {
            if (packet.type === types.event && packet.id === undefined) onNotification()
            else fail(`a Computer got ${excerpt(packet)}`)
          }),
        announce: (name) => connection.socket.send(updateText(name + suffix)),
        close: connection.socket.close
      }
    },
    flood: {
      path: handshakeOf(dialect),
      greeting: [
        { send: connectText("agent"), until: start("connect") },
        { send: joinText({ role: "agent", name: "flood", office: "flood" }), until: joinedText }
      ],
      message: `${start("event")}${JSON.stringify([
        "client:tool_call",
        {
          agent: "flood",
          req_id: requestId(0),
          computer: "nobody",
          tool_name: "bench__tool",
          params: {},
          timeout: callSeconds
        }
      ])}`
    }
  }
}
