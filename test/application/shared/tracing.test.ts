import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Tracer } from "effect"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { parseTraceparent } from "../../../src/domain/traceContext.ts"
import { agentUnderTest, computerUnderTest, textResult, tool } from "../../conformance/members.ts"
import { recorder } from "../../recorder.ts"
import { seenServer } from "../server/seen.ts"

/** An office with one tool, and the trace that the tool saw.  */
const office = Effect.gen(function* () {
  const seen = yield* seenServer()
  const inside: Array<Option.Option<Tracer.AnySpan>> = []
  const waiting = yield* Deferred.make<void>()
  const server = yield* makeMemoryMcpServer({
    tools: [
      tool("look", () =>
        Effect.gen(function* () {
          inside.push(yield* Effect.serviceOption(Tracer.ParentSpan))
          return textResult("seen")
        })
      ),
      tool("wait", () => Effect.andThen(Deferred.succeed(waiting, undefined), Effect.never))
    ]
  })
  const computer = yield* computerUnderTest(seen, { servers: { server } })
  const agent = yield* agentUnderTest(seen)
  yield* agent.settled
  return { agent, computer, inside, waiting }
})

const named = (spans: ReadonlyArray<Tracer.Span>, name: string, kind: Tracer.SpanKind, since: number) =>
  spans.slice(since).filter((span) => span.name === name && span.kind === kind)

const parentOf = ({ parent }: Tracer.Span): string | undefined => Option.getOrUndefined(parent)?.spanId

describe("a traced call", () => {
  it.effect("spans one trace from the Agent through the Server and the Computer to the tool", () => {
    const { spans, tracer } = recorder()
    return Effect.gen(function* () {
      const { agent, inside } = yield* office
      const before = spans.length
      yield* agent.callTool({ computer: "pc-1", tool: "look" })
      const [clientSpan] = named(spans, "client:tool_call", "client", before)
      const served = named(spans, "client:tool_call", "server", before)
      if (clientSpan === undefined) return assert.fail("the Agent has no span")
      assert.strictEqual(served.length, 2)
      for (const hop of served) {
        assert.deepStrictEqual([hop.traceId, parentOf(hop)], [clientSpan.traceId, clientSpan.spanId])
        assert.strictEqual(hop.status._tag, "Ended")
      }
      const computing = served.find(({ attributes }) => attributes.has("a2c.outcome") === false)
      assert.strictEqual(Option.getOrUndefined(inside[0] ?? Option.none())?.spanId, computing?.spanId)
    }).pipe(Effect.provideService(Tracer.Tracer, tracer))
  })

  it.effect("puts a separate span into the id of every request of the Agent", () => {
    const { spans, tracer } = recorder()
    return Effect.gen(function* () {
      const { agent, computer } = yield* office
      const before = spans.length
      yield* agent.callTool({ computer: "pc-1", tool: "look" })
      yield* agent.callTool({ computer: "pc-1", tool: "look" })
      const clientSpans = named(spans, "client:tool_call", "client", before)
      const status = yield* computer.history
      assert.deepStrictEqual(
        status.map(({ reqId }) => parseTraceparent(reqId)?.spanId),
        clientSpans.map(({ spanId }) => spanId)
      )
      assert.strictEqual(new Set(clientSpans.map(({ spanId }) => spanId)).size, 2)
    }).pipe(Effect.provideService(Tracer.Tracer, tracer))
  })

  it.effect("stops at the Computer by its id when it is cancelled", () => {
    const { spans, tracer } = recorder()
    return Effect.gen(function* () {
      const { agent, waiting } = yield* office
      const calling = yield* Effect.forkChild(agent.callTool({ computer: "pc-1", tool: "wait" }))
      yield* Deferred.await(waiting)
      yield* Fiber.interrupt(calling)
      yield* agent.getTools("pc-1")
      const open = spans.filter(({ name, status }) => name === "client:tool_call" && status._tag === "Started")
      assert.deepStrictEqual(open, [])
    }).pipe(Effect.provideService(Tracer.Tracer, tracer))
  })

  it.effect("starts a new trace at the Server when the Agent does not trace", () => {
    const { spans, tracer } = recorder()
    return Effect.gen(function* () {
      const seen = yield* Effect.provideService(seenServer(), Tracer.Tracer, tracer)
      const agent = yield* agentUnderTest(seen)
      yield* agent.settled
      yield* Effect.flip(agent.callTool({ computer: "absent", tool: "look" }))
      const [span] = named(spans, "client:tool_call", "server", 0)
      assert.isTrue(span !== undefined && Option.isNone(span.parent))
      assert.strictEqual(span?.attributes.get("a2c.outcome"), "404")
    })
  })
})

describe("a request that passes through", () => {
  it.effect("keeps the trace state and the baggage of its host", () =>
    Effect.gen(function* () {
      const seen = yield* seenServer()
      const received: Array<unknown> = []
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true },
        answer: (method, params) => {
          if (method === "prompts/get") received.push(params["_meta"])
          return Effect.succeed(method === "prompts/get" ? { messages: [] } : { prompts: [{ name: "greeting" }] })
        }
      })
      yield* computerUnderTest(seen, { servers: { server } })
      const agent = yield* agentUnderTest(seen)
      yield* agent.settled
      const [known] = yield* agent.mcpServers("pc-1")
      const _meta = { tracestate: "a=b", baggage: "c=d" }
      const params = { name: "greeting", _meta }
      yield* agent.mcpRequest("pc-1", { server: known?.id ?? "", method: "prompts/get", params })
      assert.deepStrictEqual(received, [_meta])
    })
  )
})

describe("a call without a tracer", () => {
  it.effect("uses random request ids, and tools see no span", () =>
    Effect.gen(function* () {
      const { agent, computer, inside } = yield* office
      yield* agent.callTool({ computer: "pc-1", tool: "look" })
      const [record] = yield* computer.history
      assert.match(record?.reqId ?? "", /^[0-9a-f]{8}-/)
      assert.deepStrictEqual(inside, [Option.none()])
    })
  )
})
