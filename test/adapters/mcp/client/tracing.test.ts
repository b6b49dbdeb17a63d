import { assert, describe, it } from "@effect/vitest"
import { Effect, Tracer } from "effect"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { parseTraceparent } from "../../../../src/domain/traceContext.ts"
import { recorder } from "../../../recorder.ts"
import { json, makeHttpPeer, open } from "./http/HttpPeer.ts"

/** A server of either era that records `_meta` of its last call. */
const makeServer = Effect.fnUntraced(function* (isModern: boolean) {
  let meta: unknown
  const peer = yield* makeHttpPeer(({ id, method, params, verb }, response) => {
    if (verb === "GET") return response.writeHead(405).end()
    if (verb === "DELETE" || id === undefined) return response.writeHead(202).end()
    switch (method) {
      case "initialize": {
        if (isModern) return json(response, id, { error: { code: -32601, message: "Method not found" } }, 400)
        const serverInfo = { name: "older", version: "0" }
        return json(response, id, {
          result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo }
        })
      }
      case "server/discover":
        return json(response, id, {
          result: {
            resultType: "complete",
            supportedVersions: ["2026-07-28"],
            capabilities: { tools: {} }
          }
        })
      case "tools/call":
        meta = params["_meta"]
        return json(response, id, { result: { resultType: "complete", content: [] } })
      default:
        return json(response, id, { result: {} })
    }
  })
  return { peer, meta: () => meta as JsonObject | undefined }
})

for (const isModern of [false, true]) {
  describe(`a call of a tool of ${isModern ? "revision 2026-07-28" : "an older revision"}`, () => {
    it.live("sends its span to the MCP server as a child of the caller's", () =>
      Effect.gen(function* () {
        const { spans, tracer } = recorder()
        const { meta, peer } = yield* makeServer(isModern)
        const session = yield* open(peer)
        const calling = session.callTool("t", {}, { onProgress: () => Effect.void })
        yield* Effect.withSpan(calling, "caller").pipe(Effect.provideService(Tracer.Tracer, tracer))
        const sent = parseTraceparent(String(meta()?.["traceparent"]))
        const caller = spans.find(({ name }) => name === "caller")
        const step = spans.find(({ name }) => name === "tools/call t")
        assert.strictEqual(sent?.traceId, caller?.traceId)
        assert.strictEqual(sent?.spanId, step?.spanId)
        assert.isTrue(step?.parent._tag === "Some" && step.parent.value.spanId === caller?.spanId)
        // The protocol's own members stay.
        assert.property(meta(), "progressToken")
      })
    )

    it.live("sends no trace context without a tracer", () =>
      Effect.gen(function* () {
        const { meta, peer } = yield* makeServer(isModern)
        const session = yield* open(peer)
        yield* Effect.withSpan(session.callTool("t", {}), "caller")
        assert.notProperty(meta() ?? {}, "traceparent")
      })
    )
  })
}
