import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Metric, Option, Record, type Scope, Tracer } from "effect"
import type { McpSession } from "../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../src/domain/json.ts"
import { recorder } from "../../recorder.ts"
import { json, makeHttpPeer, open } from "./client/http/HttpPeer.ts"
import { makeMcpTelemetry, MetricsExported, pipeNetwork } from "../../../src/adapters/mcp/mcpTelemetry.ts"
import { publishHttp } from "../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { clientKinds, type Peer } from "./publish/clients.ts"

/** A span without what differs from run to run; the fixture has these. */
interface ExpectedSpan {
  readonly name: string
  readonly kind: string
  readonly parent: string
  readonly status: string
  readonly attributes: JsonObject
}

/** The spans of each request, and what the host adds to the attributes of its spans. */
const fixture = JSON.parse(readFileSync(new URL("../../fixtures/mcpSpans.json", import.meta.url), "utf8")) as {
  readonly requests: { readonly [request: string]: ReadonlyArray<ExpectedSpan> }
  readonly hosts: { readonly [kind: string]: JsonObject }
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const hostSpan = "00f067aa0ba902b7"
const host = {
  traceparent: `00-${traceId}-${hostSpan}-01`,
  tracestate: "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE",
  baggage: "userId=alice,serverNode=DF%2028;ttl=1"
}

/** What the MCP server answers to a tool or for a resource. */
const results: { readonly [name: string]: object } = {
  good: { result: { content: [] } },
  bad: { result: { content: [], isError: true } },
  broken: { error: { code: -32_603, message: "the secret of alice" } },
  "test://broken/": { error: { code: -32_603, message: "the secret of alice" } },
  "test://absent/": { error: { code: -32_002, message: "no such resource" } }
}

/** An MCP server over HTTP that records the `_meta` of its requests. */
const makeServer = Effect.gen(function* () {
  const metas: Array<JsonObject> = []
  const peer = yield* makeHttpPeer(({ id, method, params, verb }, response) => {
    if (verb === "GET") return response.writeHead(405).end()
    if (verb === "DELETE" || id === undefined) return response.writeHead(202).end()
    const { name = "" } = params
    if (method === "initialize") {
      const capabilities = { tools: {}, resources: {}, prompts: {} }
      const serverInfo = { name: "spans", version: "0" }
      const result = { protocolVersion: "2025-06-18", capabilities, serverInfo }
      return json(response, id, { result }, 200, { "Mcp-Session-Id": "abc" })
    }
    metas.push(asObject(params["_meta"]))
    const answer = results[name] ?? results[params.uri ?? ""]
    if (answer !== undefined) return json(response, id, answer)
    const result = {
      tools: [{ name: "good", inputSchema: { type: "object" } }],
      contents: [{ uri: "test://host/one", text: "1" }],
      messages: []
    }
    return json(response, id, { result })
  })
  return { metas, peer }
})

/** A published MCP server, its client, and their spans. */
const world = Effect.fnUntraced(function* (
  connect: (session: McpSession) => Effect.Effect<Peer, unknown, Scope.Scope>
) {
  const { spans, tracer } = recorder()
  const { metas, peer } = yield* makeServer
  const registry: Metric.MetricRegistry = new Map()
  const client = yield* Effect.flatMap(open(peer), connect).pipe(
    Effect.provideService(Tracer.Tracer, tracer),
    Effect.provideService(Metric.MetricRegistry, registry)
  )
  return { client, metas, registry, spans }
})

/** Replaces what differs from run to run, if it has the right form. */
const volatile: { readonly [name: string]: (value: unknown) => boolean } = {
  "server.port": (value) => typeof value === "number" && value > 1024,
  "server.address": (value) => String(value).startsWith("127."),
  "jsonrpc.request.id": (value) => /^(?:\d+|[a-z/]+#\d+)$/.test(String(value)),
  "mcp.session.id": (value) => value === "abc" || /^[0-9a-f-]{36}$/.test(String(value))
}

const describeSpan = (span: Tracer.Span, all: ReadonlyArray<Tracer.Span>): ExpectedSpan => {
  const parent = Option.getOrUndefined(span.parent)
  const ownParent = all.find(({ spanId }) => spanId === parent?.spanId)
  const isHost = parent?.spanId === hostSpan && span.traceId === traceId
  const ended = span.status._tag === "Ended" ? span.status.exit : Exit.die("not ended")
  const attributes = [...span.attributes].sort(([one], [other]) => (one < other ? -1 : 1))
  return {
    name: span.name,
    kind: span.kind,
    parent: isHost ? "the host" : ownParent === undefined ? "none" : `${ownParent.kind} ${ownParent.name}`,
    status: Exit.isSuccess(ended) ? "ok" : (Cause.prettyErrors(ended.cause)[0]?.message ?? ""),
    attributes: Object.fromEntries(
      attributes.map(([name, value]) => [name, volatile[name]?.(value) === true ? "…" : value])
    )
  }
}

const requests: { readonly [title: string]: readonly [method: string, params: JsonObject] } = {
  "a call": ["tools/call", { name: "good", arguments: { secret: "s" } }],
  "a tool error": ["tools/call", { name: "bad" }],
  "an error": ["tools/call", { name: "broken" }],
  "an unknown method": ["nothing/here", {}],
  "a list": ["tools/list", {}],
  "a resource": ["resources/read", { uri: "test://user:pw@host/one?token=t#f" }],
  "an error of a resource": ["resources/read", { uri: "test://broken/" }],
  "an unknown resource": ["resources/read", { uri: "test://absent/" }],
  "a resource without a URI": ["resources/read", { uri: "/etc/secret" }],
  "a prompt": ["prompts/get", { name: "greeting" }],
  "a prompt without a name": ["prompts/get", {}]
}

for (const [kind, connect] of clientKinds) {
  describe(`a published session and ${kind}`, () => {
    it.live("names spans and attributes by the conventions, below the span of the host", () =>
      Effect.gen(function* () {
        const { client, metas, registry, spans } = yield* world(connect)
        const seen: Record<string, ReadonlyArray<ExpectedSpan>> = {}
        for (const [title, [method, params]] of Object.entries(requests)) {
          const before = spans.length
          yield* Effect.exit(client.request(method, { ...params, _meta: host }))
          seen[title] = spans.slice(before).map((span) => describeSpan(span, spans))
        }
        // The SDK responds itself to an unknown method over HTTP, before the stream of the response.
        const isUnseen = kind === "the v2 SDK over HTTP"
        const expected = Record.map(fixture.requests, (those, title) =>
          (isUnseen && title === "an unknown method" ? [] : those).map((span) => {
            const attributes = { ...span.attributes, ...(span.kind === "server" && fixture.hosts[kind]) }
            return { ...span, attributes }
          })
        )
        assert.deepStrictEqual<unknown>(seen, expected)
        assert.notInclude(JSON.stringify(seen), "secret")
        const counted = [...registry.values()].map(
          ({ attributes = {}, id }) => `${id} ${attributes["mcp.method.name"]}`
        )
        assert.strictEqual(counted.includes("mcp.server.operation.duration nothing/here"), !isUnseen)
        // In one process everything reaches the MCP server.
        const [{ baggage, traceparent, tracestate } = {}] = metas
        assert.deepStrictEqual<unknown>({ baggage, tracestate }, { baggage: host.baggage, tracestate: host.tracestate })
        assert.match(String(traceparent), new RegExp(`^00-${traceId}-(?!${hostSpan})`))
      })
    )

    it.live("measures the sessions that have ended", () =>
      Effect.gen(function* () {
        const registry = yield* Effect.scoped(Effect.map(world(connect), (parts) => parts.registry))
        const sessions = [...registry.values()].filter(({ id }) => id.endsWith(".session.duration"))
        const measured = sessions.map(({ attributes = {}, id }) => `${id} ${attributes["mcp.protocol.version"]}`)
        const client = "mcp.client.session.duration 2025-06-18"
        const server = "mcp.server.session.duration 2025-11-25"
        const modern = "mcp.server.session.duration 2026-07-28"
        const expected = { "the v2 SDK over HTTP": [client], "the v2 SDK over stdio": [client, modern] }[kind]
        assert.deepStrictEqual(measured.toSorted(), expected ?? [client, server])
      })
    )
  })
}

/** Sends a request of MCP 2026-07-28 with these headers and this `_meta`. */
const post = (url: string, headers: Record<string, string>, meta: JsonObject) =>
  Effect.promise(async () => {
    const method = "tools/call"
    const revision = "2026-07-28"
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientInfo": { name: "host", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
      ...meta
    }
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
        "Mcp-Method": method,
        "Mcp-Name": "good",
        ...headers
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: "one", method, params: { name: "good", arguments: {}, _meta } })
    })
    return response.text()
  })

const other = "11111111111111111111111111111111"
const headers = { traceparent: `00-${other}-2222222222222222-01`, tracestate: "header=1", baggage: "from=header" }
const invalid = { traceparent: "00-xyz", tracestate: "BAD", baggage: "no equals sign" }

/** Headers, `_meta`, then the trace of the span, and what reaches the MCP server. */
const carriers = {
  "only headers": [headers, {}, other, "header=1", "from=header"],
  "only _meta": [{}, host, traceId, host.tracestate, host.baggage],
  "both, and prefers _meta": [headers, host, traceId, host.tracestate, host.baggage],
  "a traceparent in _meta alone, without the tracestate of another": [
    headers,
    { traceparent: host.traceparent },
    traceId,
    undefined,
    "from=header"
  ],
  "baggage alone": [{}, { baggage: "a=b" }, undefined, undefined, "a=b"],
  "a tracestate without a traceparent": [{}, { tracestate: "a=b" }, undefined, undefined, undefined],
  "an invalid tracestate": [{}, { ...host, tracestate: "Bad=1" }, traceId, undefined, host.baggage],
  "invalid values": [invalid, invalid, undefined, undefined, undefined],
  "values that are no texts": [{}, { traceparent: 1, baggage: {} }, undefined, undefined, undefined],
  "a traceparent of a later version": [
    {},
    { traceparent: `cc-${traceId}-${hostSpan}-01-what-comes` },
    traceId,
    undefined,
    undefined
  ],
  "too much": [{}, { baggage: `a=${"x".repeat(8191)}` }, undefined, undefined, undefined]
} as const

describe("a request over HTTP", () => {
  it.live.each(Object.entries(carriers))("continues the trace of a host that sends %s", ([, expected]) =>
    Effect.gen(function* () {
      const [sentHeaders, sentMeta, trace, tracestate, baggage] = expected
      const { spans, tracer } = recorder()
      const { metas, peer } = yield* makeServer
      const { url } = yield* Effect.flatMap(open(peer), (session) =>
        publishHttp(session, { port: 0, token: "allowAll" })
      ).pipe(Effect.provideService(Tracer.Tracer, tracer))
      const before = spans.length
      assert.include(yield* post(url, sentHeaders, sentMeta), '"id":"one"')
      const [served, asked] = spans.slice(before)
      assert.deepStrictEqual([served?.kind, asked?.kind], ["server", "client"])
      assert.strictEqual(asked?.traceId, served?.traceId)
      if (trace === undefined) assert.isTrue(served !== undefined && Option.isNone(served.parent))
      else assert.strictEqual(served?.traceId, trace)
      const meta = metas.at(-1) ?? {}
      assert.deepStrictEqual<unknown>([meta["tracestate"], meta["baggage"]], [tracestate, baggage])
    })
  )

  it.live("passes the trace of its host on where nothing traces", () =>
    Effect.gen(function* () {
      const { metas, peer } = yield* makeServer
      const { url } = yield* Effect.flatMap(open(peer), (session) =>
        publishHttp(session, { port: 0, token: "allowAll" })
      )
      yield* post(url, {}, host)
      yield* post(url, {}, {})
      const [first = {}, second = {}] = metas
      const { baggage, traceparent, tracestate } = first
      assert.deepStrictEqual<unknown>({ baggage, traceparent, tracestate }, host)
      assert.notProperty(second, "traceparent")
    })
  )
})

describe("makeMcpTelemetry", () => {
  const call = (telemetry: ReturnType<typeof makeMcpTelemetry>, method: string) =>
    telemetry({ method, params: {}, version: "2025-11-25", details: {} }, () => Effect.succeed({}))

  it.effect("measures nothing until metrics are exported", () =>
    Effect.gen(function* () {
      const registry: Metric.MetricRegistry = new Map()
      const telemetry = makeMcpTelemetry("client", pipeNetwork)
      const counted = Effect.provideService(call(telemetry, "tools/list"), Metric.MetricRegistry, registry)
      yield* counted
      assert.strictEqual(registry.size, 0)
      yield* Effect.provideService(counted, MetricsExported, true)
      const [{ attributes, id } = { attributes: {}, id: "" }] = registry.values()
      assert.strictEqual(id, "mcp.client.operation.duration")
      assert.deepStrictEqual<unknown>(attributes, {
        unit: "s",
        "network.transport": "pipe",
        "mcp.method.name": "tools/list",
        "mcp.protocol.version": "2025-11-25"
      })
    })
  )

  it.effect("bounds the number of series", () =>
    Effect.gen(function* () {
      const registry: Metric.MetricRegistry = new Map()
      const telemetry = makeMcpTelemetry("server", pipeNetwork)
      const methods = Array.from({ length: 300 }, (_, index) => call(telemetry, `method/${index}`))
      yield* Effect.all(methods, { discard: true }).pipe(
        Effect.provideService(Metric.MetricRegistry, registry),
        Effect.provideService(MetricsExported, true)
      )
      const names = [...registry.values()].map(({ attributes = {} }) => attributes["mcp.method.name"])
      assert.deepStrictEqual([names.length, names.at(-1)], [257, "_OTHER"])
    })
  )
})
