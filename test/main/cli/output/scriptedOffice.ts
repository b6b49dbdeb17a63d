import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { Server } from "socket.io"
import { everyStatus } from "./statusReport.ts"

interface Request {
  readonly req_id: string
  readonly computer?: string
  readonly tool_name?: string
  readonly method?: string
}

const parameters = {
  type: "object",
  properties: {
    path: { type: "string", description: "Path of the folder, relative to the home folder of the user" },
    recursive: { type: "boolean", default: false, description: "Also list the folders below" },
    kind: { enum: ["file", "folder"] }
  },
  required: ["path"]
}

const tools = [
  ["list_directory", "List the files and folders of a folder, with their sizes and the times of their last changes"],
  ["温度计_read", "读取温度计的当前温度，单位为摄氏度"],
  ["get_sum", "Add two numbers"]
].map(([name, description]) => ({
  name,
  description,
  params_schema: parameters,
  return_schema: { type: "object", properties: { total: { type: "number", description: "The number of entries" } } }
}))

const longText = "The folder holds 3 files. ".repeat(8).trim()

const approval = {
  id: "3f2a9c41-approval",
  computer: "desk",
  server: "files",
  tool: "remove_directory",
  requester: "a2c-agent",
  arguments: '{\n  "path": "/home/user/reports"\n}',
  previous_arguments: '{\n  "path": "/home/user/drafts"\n}',
  arguments_sha256: "4".repeat(64),
  asked_by: "policy",
  reason: "a rule of the policy asks for every call that removes files",
  requested_at: 1_767_225_600_000,
  expires_in_ms: 290_000,
  state: "open",
  change: {
    approved_at: 1_767_139_200_000,
    approved_by: "operator:ann",
    differences: [
      { part: "description", before: "Removes an empty folder.", after: "Removes a folder and all files in it." }
    ]
  }
}

const results: { readonly [tool: string]: object } = {
  list_directory: { content: [{ type: "text", text: longText }] },
  get_sum: {
    content: [{ type: "text", text: "division by zero is not defined for the numbers that were given" }],
    isError: true
  }
}

const answers: { readonly [event: string]: (request: Request) => object } = {
  "server:list_room": ({ req_id }) => ({
    sessions: [
      ["a2c-agent", "agent"],
      ["desk", "computer"],
      ["workstation-of-the-laboratory-on-the-second-floor", "computer"]
    ].map(([name, role]) => ({ sid: name, name, role, office_id: "team", a2c_version: "0.2.0" })),
    req_id
  }),
  "client:get_tools": ({ computer, req_id }) =>
    computer === "desk"
      ? { tools, req_id }
      : { tools: tools.slice(0, 1), failing_servers: [{ name: "maps", reason: 'command "maps" not found' }], req_id },
  "client:tool_call": ({ tool_name = "" }) =>
    results[tool_name] ?? {
      code: 404,
      message: `The tool ${tool_name} is not here, and no other tool has a similar name`
    },
  "client:get_config": () => ({
    servers: { files: { name: "files", type: "stdio", server_parameters: { command: "npx", args: ["-y", "files"] } } },
    inputs: []
  }),
  "client:get_desktop": ({ req_id }) => ({ desktops: ["window://files/readme\n\n# Read me first"], req_id }),
  "client:get_approvals": ({ req_id }) => ({ approvals: [approval], req_id }),
  "client:get_resources": ({ req_id }) => ({
    resources: [
      { uri: "file:///home/user/documents/reports/2026/first-quarter.pdf", name: "Report of the first quarter" }
    ],
    req_id
  }),
  "client:get_dpe": ({ req_id }) => ({ uri: "file:///home/user/documents/report.pdf", req_id }),
  "client:get_finder": ({ req_id }) => ({
    documents: [1, 12].map((pages) => ({
      uri: `dpe://host/report-${pages}`,
      doc_ref: `report-${pages}`,
      file_uri: `file:///report-${pages}.pdf`,
      file_type: "pdf",
      title: "Report of the laboratory on the second floor, with all measurements",
      page_count: pages,
      server: "files"
    })),
    total_count: 2,
    req_id
  })
}

/** Serves an office with fixed members, tools and results, and a status page. */
export const scriptedOffice = Effect.gen(function* () {
  const http = createServer((request, response) => {
    response.writeHead(200).end(request.url?.startsWith("/readyz") === true ? "ready" : JSON.stringify(everyStatus))
  })
  const io = yield* Effect.acquireRelease(
    Effect.sync(() => new Server(http, { path: "/smcp", serveClient: false })),
    (server) => Effect.promise(() => server.close())
  )
  io.of("/smcp").on("connection", (socket) => {
    socket.onAny((event: string, request: Request, ack: (...values: Array<unknown>) => void) => {
      if (event === "server:join_office") return ack(true, null)
      ack(answers[event]?.(request) ?? { code: 400, message: "The request is not known" })
    })
  })
  yield* Effect.callback<void>((resume) => void http.listen(0, "127.0.0.1", () => resume(Effect.void)))
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
})
