import { createServer } from "node:http"
import { Server, type Socket } from "socket.io"
import { maxMessageBytes, path } from "./limits.ts"
import { listen } from "./listen.ts"

interface Joining {
  readonly role: "agent" | "computer"
  readonly name: string
  readonly office_id: string
}

interface ToolCall {
  readonly computer: string
  /** Seconds. */
  readonly timeout: number
}

interface Refusal {
  readonly code: number
  readonly message: string
}

interface Received {
  readonly "server:join_office": (joining: Joining, ack?: (ok: boolean, why: string | null) => void) => void
  readonly "client:tool_call": (call: ToolCall, ack?: (result: unknown) => void) => void
  readonly "server:update_tool_list": (update: { readonly computer: string }) => void
}

interface Sent {
  readonly "notify:update_tool_list": (update: object) => void
  readonly "notify:enter_office": (entered: object) => void
  readonly "notify:leave_office": (left: object) => void
  readonly "client:tool_call": (call: ToolCall, ack: (result: unknown) => void) => void
}

type Member = Socket<Received, Sent>

/** Seconds beyond the timeout of a call, for the network. */
const grace = 5

/**
 * Starts a handwritten relay on Socket.IO with its stock parser, and returns its address. It implements only the part of
 * the protocol that a tool call needs.
 */
export const startSocketIoRelay = (): Promise<string> => {
  const http = createServer()
  const io = new Server<Received, Sent>(http, { path, maxHttpBufferSize: maxMessageBytes, serveClient: false })
  const computers = new Map<string, Map<string, Member>>()

  const session = (socket: Member, { name, office_id: office, role }: Joining) => {
    void socket.join(office)
    socket.to(office).emit("notify:enter_office", { office_id: office, [role]: name })
    const others = computers.get(office) ?? new Map<string, Member>()
    if (role === "computer") computers.set(office, others.set(name, socket))
    socket.on("disconnect", () => {
      socket.to(office).emit("notify:leave_office", { office_id: office, [role]: name })
      if (role === "computer") others.delete(name)
      if (others.size === 0) computers.delete(office)
    })
  }

  io.of(path).on("connection", (socket) => {
    let office: string | undefined
    socket.on("server:join_office", (joining, ack) => {
      if (computers.get(joining.office_id)?.has(joining.name) === true) {
        ack?.(false, `Computer with name '${joining.name}' already exists`)
        return
      }
      office = joining.office_id
      session(socket, joining)
      ack?.(true, null)
    })
    socket.on("server:update_tool_list", ({ computer }) => {
      if (office !== undefined) socket.to(office).emit("notify:update_tool_list", { computer })
    })
    socket.on("client:tool_call", (call, ack) => {
      const refuse = (refusal: Refusal) => ack?.(refusal)
      if (office === undefined) return refuse({ code: 4103, message: "Not in an office" })
      const computer = computers.get(office)?.get(call.computer)
      if (computer === undefined) {
        return refuse({ code: 404, message: `Computer '${call.computer}' not found` })
      }
      computer.timeout((call.timeout + grace) * 1000).emit("client:tool_call", call, (error, result) => {
        if (error === null) ack?.(result)
        else refuse({ code: 408, message: "The Computer did not answer in time" })
      })
    })
  })
  return listen(http)
}
