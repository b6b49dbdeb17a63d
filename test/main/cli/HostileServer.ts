import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"
import { Server } from "socket.io"
import { hostileText as hostile } from "../../fixtures/hostileText.ts"

const computer = `desk${hostile}`

interface Request {
  readonly req_id: string
  readonly tool_name?: string
}

/** The answer to each request of an Agent: every text in it is hostile. */
const answers: { readonly [event: string]: (request: Request) => object } = {
  "server:list_room": ({ req_id }) => ({
    sessions: [{ sid: "s", name: computer, role: "computer", office_id: "o", a2c_version: hostile }],
    req_id
  }),
  "client:get_tools": ({ req_id }) => ({
    tools: ["echo", "broken", "rejected", `named${hostile}\nforged line`].map((name) => ({
      name,
      description: `does${hostile}`,
      params_schema: {},
      return_schema: null
    })),
    req_id
  }),
  "client:tool_call": ({ tool_name }) =>
    tool_name === "rejected"
      ? { code: 404, message: `not found${hostile}` }
      : { content: [{ type: "text", text: `first${hostile}\nsecond\tline` }], isError: tool_name === "broken" },
  "client:get_config": () => ({
    servers: {
      [`files${hostile}`]: { name: `files${hostile}`, type: "stdio", server_parameters: { command: hostile } }
    },
    inputs: []
  }),
  "client:get_desktop": ({ req_id }) => ({ desktops: [`window://h/x\n\nwindow${hostile}\nsecond line`], req_id }),
  "client:get_resources": ({ req_id }) => ({ resources: [{ uri: `x://h/${hostile}`, name: hostile }], req_id }),
  "client:get_dpe": ({ req_id }) => ({ uri: `file:///x${hostile}`, req_id }),
  "client:get_finder": ({ req_id }) => ({
    documents: [
      {
        uri: `dpe://h/${hostile}`,
        doc_ref: hostile,
        file_uri: hostile,
        file_type: hostile,
        title: hostile,
        page_count: 1,
        server: hostile
      }
    ],
    total_count: 1,
    req_id
  })
}

const counts = { [`c${hostile}`]: 1 }

const statusReport = {
  version: hostile,
  lines: [hostile],
  state: `ready${hostile}`,
  reason: hostile,
  components: { [`registry${hostile}`]: { error: hostile } },
  uptimeSeconds: 1,
  members: { agents: 1, computers: 1 },
  offices: 1,
  recent: { perSecond: 1 },
  totals: { calls: 1, outcomes: counts, limitRejections: counts, dropped: counts, rejectedConnections: counts },
  gauges: {},
  officeList: [{ office: hostile, line: hostile, otherLines: [hostile], agents: 1, computers: 1 }]
}

/** Serves members like an A2C Server that wants to take over their terminals, until the scope closes. */
export const hostileServer: Effect.Effect<{ readonly url: string; readonly computer: string }, never, Scope.Scope> =
  Effect.gen(function* () {
    const http = createServer((request, response) => {
      const isFound = request.url?.startsWith("/status") === true && request.headers.authorization === undefined
      response.writeHead(isFound ? 200 : 500).end(isFound ? JSON.stringify(statusReport) : `error page${hostile}`)
    })
    const io = yield* Effect.acquireRelease(
      Effect.sync(() => new Server(http, { path: "/smcp", serveClient: false })),
      (server) => Effect.promise(() => server.close())
    )
    io.of("/smcp").on("connection", (socket) => {
      socket.onAny(
        (
          event: string,
          request: Request & { readonly office_id?: string },
          ack: (...values: Array<unknown>) => void
        ) => {
          if (event !== "server:join_office") return ack(answers[event]?.(request) ?? { code: 400, message: hostile })
          if (request.office_id === "closed") return ack(false, `rejected${hostile}\nforged line`)
          ack(true, null)
          socket.emit("notify:enter_office", { office_id: request.office_id, computer })
          socket.emit("notify:update_desktop", { computer })
        }
      )
    })
    yield* Effect.callback<void>((resume) => void http.listen(0, "127.0.0.1", () => resume(Effect.void)))
    return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, computer }
  })
