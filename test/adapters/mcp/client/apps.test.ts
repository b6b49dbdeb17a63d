import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result, Schema } from "effect"
import * as McpClient from "../../../../src/adapters/mcp/client/McpClient.ts"
import { openModernSession } from "../../../../src/adapters/mcp/client/modern/openModernSession.ts"
import { publishHttp } from "../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { McpConnector } from "../../../../src/application/ports/McpSession.ts"
import { decodeEndpoint, StreamableParameters } from "../../../../src/domain/config/endpointParameters.ts"
import { tool } from "../../../conformance/members.ts"

const Live = McpClient.layer.pipe(Layer.provideMerge(NodeServices.layer))

/** The parameters of a server that offers a tool for apps to clients that announce apps. */
const parameters = Effect.gen(function* () {
  const hidden = tool("hidden", undefined, { _meta: { ui: { visibility: ["app"] } } })
  const session = yield* (yield* makeMemoryMcpServer({ tools: [hidden] })).connect
  const { url } = yield* publishHttp(session, { port: 0, token: "allowAll" })
  return { headers: null, timeout: "PT30S", sse_read_timeout: "PT300S", terminate_on_close: true, url }
})

describe("MCP client", () => {
  it.live("announces apps to MCP servers of 2026-07-28", () =>
    Effect.gen(function* () {
      const given = yield* parameters
      const decoded = yield* Schema.decodeEffect(StreamableParameters)(given)
      const session = yield* openModernSession(new URL(given.url), decoded, (fetch) => fetch)
      assert.strictEqual((yield* session.listTools()).items.length, 1)
    }).pipe(Effect.provide(Live), Effect.scoped)
  )

  it.live("announces apps to MCP servers", () =>
    Effect.gen(function* () {
      const endpoint = Result.getOrThrow(decodeEndpoint("streamable", yield* parameters))
      const session = yield* McpConnector.use(({ connect }) => connect("apps", endpoint))
      assert.strictEqual((yield* session.listTools()).items.length, 1)
    }).pipe(Effect.provide(Live), Effect.scoped)
  )
})
