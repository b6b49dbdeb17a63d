import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { act, collector, compute, echo, type Span, stop } from "./collector.ts"
import { cli, node, startServer } from "./processes.ts"

const variables = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_BSP_SCHEDULE_DELAY: "200" }

const kinds = ["", "internal", "server", "client"]

/** A span and those below it, as lines: their indentation is their depth. */
const treeOf = (spans: ReadonlyArray<Span>, parent: string, depth = 0): ReadonlyArray<string> =>
  spans
    .filter(({ parentSpanId }) => parentSpanId === parent)
    .map((span) => ({ span, line: `${" ".repeat(depth)}${span.service}: ${kinds[span.kind]} ${span.name}` }))
    .toSorted((one, other) => (one.line < other.line ? -1 : 1))
    .flatMap(({ line, span }) => [line, ...treeOf(spans, span.spanId, depth + 1)])

const attributesOf = ({ attributes }: Span) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue]))

describe("OpenTelemetry", () => {
  it.live("exports a call through three processes as one trace", () =>
    Effect.gen(function* () {
      const { paths, spans, url: otlp } = yield* collector
      const variables = { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json", OTEL_BSP_SCHEDULE_DELAY: "200" }
      const byEnvironment = { ...variables, OTEL_EXPORTER_OTLP_ENDPOINT: otlp }
      const { process: serving, url } = yield* startServer(["--otlp", otlp], variables)
      const desk = yield* compute(url, byEnvironment)
      const called = yield* act(url, echo("hi"), byEnvironment)
      assert.deepStrictEqual([called.code, called.stdout], [0, "Echo: hi\n"])
      yield* stop(desk)
      yield* stop(serving)

      const requests = spans.find(({ name, service }) => service === "a2c-agent" && name === "client:tool_call")
      const trace = spans.filter(({ traceId }) => traceId === requests?.traceId)
      const hop = (service: string, name: string) =>
        trace.find((span) => span.service === service && span.name === name && span !== requests)
      const computing = hop("a2c-computer", "client:tool_call")
      assert.strictEqual(hop("a2c-server", "client:tool_call")?.parentSpanId, requests?.spanId)
      assert.strictEqual(computing?.parentSpanId, requests?.spanId)
      assert.strictEqual(hop("a2c-computer", "tools/call echo")?.parentSpanId, computing?.spanId)
      assert.deepStrictEqual([...paths].sort(), ["/v1/metrics", "/v1/traces"])
    })
  )

  it.live("exports one tree from the request of an MCP host to the MCP server", () =>
    Effect.gen(function* () {
      const { metrics, spans, url: otlp } = yield* collector
      const flags = ["--otlp", otlp]
      const { process: serving, url } = yield* startServer(flags, variables)
      const desk = yield* compute(url, { ...variables, OTEL_EXPORTER_OTLP_ENDPOINT: otlp })
      const place = ["--server", url, "--office", "team", "--name", "bridge"]
      const bridge = yield* node([cli, "agent", ...place, "mcp", "--http", "0", ...flags], variables)
      const at = (yield* bridge.prints("publishing office team at ")).replace("publishing office team at ", "")

      const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
      const hostSpan = "00f067aa0ba902b7"
      const post = (method: string, params: object, headers: Record<string, string>, id?: number) =>
        Effect.promise(async () => {
          const response = await fetch(at, {
            method: "POST",
            headers: {
              "Content-Type": "application/json",
              Accept: "application/json, text/event-stream",
              ...headers
            },
            body: JSON.stringify({ jsonrpc: "2.0", id, method, params })
          })
          return { text: await response.text(), session: response.headers.get("mcp-session-id") ?? "" }
        })
      const clientInfo = { name: "host", version: "1" }
      const hello = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }
      const { session } = yield* post("initialize", hello, {}, 1)
      const ofSession = { "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-11-25" }
      yield* post("notifications/initialized", {}, ofSession)
      const traced = { ...ofSession, traceparent: `00-${traceId}-${hostSpan}-01` }
      const call = { name: "desk__echo", arguments: { message: "hi" } }
      assert.include((yield* post("tools/call", call, traced, 2)).text, "Echo: hi")
      yield* Effect.forEach([bridge, desk, serving], (one) => stop(one))

      const trace = spans.filter((span) => span.traceId === traceId)
      assert.deepStrictEqual(treeOf(trace, hostSpan), [
        "a2c-agent: server tools/call desk__echo",
        " a2c-agent: client client:tool_call",
        "  a2c-computer: server client:tool_call",
        "   a2c-computer: client tools/call echo",
        "  a2c-server: server client:tool_call"
      ])
      assert.lengthOf(trace, 5)
      const asked = trace.find(({ name }) => name === "tools/call echo")
      assert.deepInclude(asked === undefined ? {} : attributesOf(asked), {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "echo",
        "network.transport": "pipe"
      })
      assert.include([...metrics], "a2c-agent mcp.server.operation.duration s")
      assert.include([...metrics], "a2c-computer mcp.client.operation.duration s")
    })
  )
})
