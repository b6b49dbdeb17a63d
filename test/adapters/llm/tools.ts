import { Deferred, Effect } from "effect"
import { type McpSession, McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { makeMemoryMcpServer, type MemoryTool } from "../../../src/adapters/memory/MemoryMcp.ts"

/** One red dot as a PNG in base64. */
export const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="

/** An abort reason of a host without Effect. */
export const giveUp = () => new AbortController()

const schema = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }

const tool = (name: string, run: MemoryTool["run"], more: object = {}): MemoryTool => ({
  definition: { name, description: `Tool ${name}`, inputSchema: schema, ...more },
  run
})

/** A session with a tool for every kind of outcome, and the log of its slow tool. */
export const makeTools = Effect.gen(function* () {
  const started = yield* Deferred.make<void>()
  const stopped = yield* Deferred.make<void>()
  const server = yield* makeMemoryMcpServer({
    name: "workshop",
    pageSize: 2,
    tools: [
      tool("echo", ({ text }) => Effect.succeed({ content: [{ type: "text", text }], _meta: { "x/y": 1 } }), {
        annotations: { readOnlyHint: true },
        _meta: { "vendor/hint": "fast" }
      }),
      tool("paint", () => Effect.succeed({ content: [{ type: "image", data: dot, mimeType: "image/png" }] })),
      tool("measure", () => Effect.succeed({ content: [], structuredContent: { width: 3 } }), {
        outputSchema: { type: "object", properties: { width: { type: "number" } } }
      }),
      tool("break", () => Effect.succeed({ content: [{ type: "text", text: "it broke" }], isError: true })),
      tool("refuse", () =>
        Effect.fail(new McpSessionError({ reason: "protocol", code: -32602, message: "no such screw" }))
      ),
      tool("step", (_args, { progress }) =>
        Effect.as(progress({ progress: 1, total: 2 }), { content: [{ type: "text", text: "stepped" }] })
      ),
      tool("wait", () =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Deferred.succeed(stopped, undefined))
        )
      )
    ],
    resources: [
      {
        definition: { uri: "note://one", name: "one" },
        read: Effect.succeed([{ uri: "note://one", text: "first" }])
      }
    ]
  })
  const session: McpSession = yield* server.connect
  return { server, session, started: Deferred.await(started), stopped: Deferred.await(stopped) }
})
