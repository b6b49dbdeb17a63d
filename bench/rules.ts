/**
 * Measures what a policy of twenty rules costs a call. Only the last rule applies. Agent, Server and Computer run in this
 * process, and the CPU time of their calls is compared with that of calls without rules. The MCP server, a process on
 * stdio, does not count. bench/README.md has the results.
 * Usage: node bench/rules.ts [PHASES]
 */
import { fileURLToPath } from "node:url"
import { Context, Effect, Layer, Logger, Result, type Scope } from "effect"
import * as RulePolicy from "../src/application/computer/calls/RulePolicy.ts"
import { Agent } from "../src/application/agent/Agent.ts"
import { Computer } from "../src/application/computer/Computer.ts"
import { Policy } from "../src/application/ports/approvals/Policy.ts"
import { Authenticator } from "../src/application/ports/Authenticator.ts"
import { Observability } from "../src/application/server/observability/Observability.ts"
import { ServerMetrics } from "../src/application/server/observability/ServerMetrics.ts"
import { Server } from "../src/application/server/lifecycle/Server.ts"
import * as MemoryCluster from "../src/adapters/memory/MemoryCluster.ts"
import * as SocketIoClient from "../src/adapters/socketio/client/SocketIoClient.ts"
import * as RelayServer from "../src/adapters/socketio/RelayServer.ts"
import { parseComputerConfig } from "../src/domain/config/parseConfig.ts"
import type { Rule } from "../src/domain/policy/Rule.ts"
import { computerLayer } from "../src/main/layers/computerLayer.ts"

const phases = Number(process.argv[2] ?? 60)
const callsPerPhase = 300
/** Several: the time to wake a waiting process differs more than the cost of rules. */
const callsAtOnce = 8
const params = { path: "drafts/a.md", message: "x".repeat(1000) }

/** Its tool `echo` accepts further arguments. */
const everything = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"))

const rules: ReadonlyArray<Rule> = [
  ...Array.from({ length: 19 }, (_, index): Rule => {
    const tool = [`other_${index}*`]
    return index % 2 === 0
      ? { action: "deny", tool }
      : { action: "deny", arguments: { path: { matches: [`/etc/${index}/*`] } } }
  }),
  { action: "allow", tool: ["echo"], arguments: { path: { matches: ["drafts/*"] } } }
]

/** An Agent that calls a tool of its Computer, with a policy or with `auto_apply`. */
const site = Effect.fnUntraced(function* (url: string, office: string, policy?: Layer.Layer<Policy>) {
  const config = Result.getOrThrow(
    parseComputerConfig({
      servers: {
        everything: {
          type: "stdio",
          server_parameters: { command: process.execPath, args: [everything] },
          default_tool_meta: { auto_apply: true }
        }
      }
    })
  )
  const client = SocketIoClient.layer({ url })
  const computer = computerLayer({ url, name: "desk", office, config, policy })
  const { catalogue } = Context.get(yield* Layer.build(Layer.fresh(computer)), Computer)
  yield* Effect.repeat(Effect.delay(catalogue, "10 millis"), { until: ({ entries }) => entries.has("echo") })
  const agent = Context.get(
    yield* Agent.layer({ name: "thinker", office }).pipe(Layer.provide(client), Layer.fresh, Layer.build),
    Agent
  )
  return Effect.suspend(() => agent.callTool({ computer: "desk", tool: "echo", params }))
})

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN

const measure: Effect.Effect<void, unknown, Scope.Scope> = Effect.gen(function* () {
  const server = Context.get(
    yield* Server.layer.pipe(
      Layer.provide([MemoryCluster.layer, Authenticator.layerAllowAll, Observability.layerNone]),
      Layer.provide(Layer.provide(RelayServer.layer({ port: 0 }), ServerMetrics.layerNone)),
      Layer.build
    ),
    Server
  )
  const none = Layer.succeed(Policy, { decide: () => Effect.undefined })
  const plain = yield* site(server.url, "plain")
  const ruled = yield* site(server.url, "ruled", RulePolicy.layer(rules))
  const silent = yield* site(server.url, "silent", none)
  const cost = Effect.fnUntraced(function* (call: typeof plain) {
    const before = process.cpuUsage()
    yield* Effect.all(
      Array.from({ length: callsPerPhase }, () => call),
      { concurrency: callsAtOnce, discard: true }
    )
    const { system, user } = process.cpuUsage(before)
    return (system + user) / callsPerPhase
  })
  for (const call of [plain, ruled, silent]) yield* cost(call)
  const ratios: { readonly [name: string]: Array<number> } = { rules: [], "a policy without an answer": [], itself: [] }
  const micros: Array<number> = []
  for (let phase = 0; phase < phases; phase++) {
    const reference = yield* cost(plain)
    micros.push(reference)
    ratios["rules"]?.push((yield* cost(ruled)) / reference)
    ratios["a policy without an answer"]?.push((yield* cost(silent)) / reference)
    ratios["itself"]?.push((yield* cost(plain)) / reference)
  }
  process.stdout.write(`CPU per call without a policy: ${median(micros).toFixed(0)} µs\n`)
  for (const [name, values] of Object.entries(ratios))
    process.stdout.write(`with ${name} ÷ without: ${median(values).toFixed(3)}\n`)
})

await Effect.runPromise(Effect.provide(Effect.scoped(measure), Logger.layer([])))
process.exit(0)
