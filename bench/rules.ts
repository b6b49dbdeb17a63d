/**
 * Measures what a policy of twenty rules costs a call. Only the last rule applies. Agent, Server and Computer run in this
 * process, and the CPU time of their calls is compared with that of calls without rules. bench/README.md has the results.
 * Usage: node bench/rules.ts [PHASES]
 */
import { Context, Duration, Effect, Layer, Logger, Result, type Scope } from "effect"
import * as Memory from "../src/adapters/memory/MemoryMcp.ts"
import * as RulePolicy from "../src/application/computer/calls/RulePolicy.ts"
import { Agent } from "../src/application/agent/Agent.ts"
import { Computer } from "../src/application/computer/Computer.ts"
import { ComputerSettings } from "../src/application/computer/ComputerSettings.ts"
import { Inputs } from "../src/application/computer/inputs/Inputs.ts"
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

const phases = Number(process.argv[2] ?? 60)
const callsPerPhase = 300
const params = { path: "drafts/a.md", text: "x".repeat(1000) }

const rules: ReadonlyArray<Rule> = [
  ...Array.from({ length: 19 }, (_, index): Rule => {
    const tool = [`other_${index}*`]
    return index % 2 === 0
      ? { action: "deny", tool }
      : { action: "deny", arguments: { path: { matches: [`/etc/${index}/*`] } } }
  }),
  { action: "allow", tool: ["write"], arguments: { path: { matches: ["drafts/*"] } } }
]

/** An Agent that calls a tool of its Computer, with a policy or with `auto_apply`. */
const site = Effect.fnUntraced(function* (url: string, office: string, policy: Layer.Layer<Policy>) {
  const write: Memory.MemoryTool = {
    definition: { name: "write", inputSchema: { type: "object" } },
    run: () => Effect.succeed({ content: [{ type: "text", text: "done" }] })
  }
  const notes = yield* Memory.makeMemoryMcpServer({ tools: [write] })
  const config = Result.getOrThrow(
    parseComputerConfig({
      servers: {
        notes: { type: "stdio", server_parameters: { command: "memory" }, default_tool_meta: { auto_apply: true } }
      }
    })
  )
  const client = SocketIoClient.layer({ url })
  yield* Computer.layer({ name: "desk", office, config }).pipe(
    Layer.provide([Memory.layer(new Map([["notes", notes]])), Inputs.layer(), client, policy]),
    Layer.provide(
      Layer.succeed(ComputerSettings, { ...ComputerSettings.defaultValue(), changeThrottle: Duration.zero })
    ),
    Layer.fresh,
    Layer.build
  )
  const agent = Context.get(
    yield* Agent.layer({ name: "thinker", office }).pipe(Layer.provide(client), Layer.fresh, Layer.build),
    Agent
  )
  return Effect.suspend(() => agent.callTool({ computer: "desk", tool: "write", params }))
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
  const plain = yield* site(server.url, "plain", Layer.empty as Layer.Layer<Policy>)
  const ruled = yield* site(server.url, "ruled", RulePolicy.layer(rules))
  const silent = yield* site(server.url, "silent", none)
  const cost = Effect.fnUntraced(function* (call: typeof plain) {
    const before = process.cpuUsage()
    for (let count = 0; count < callsPerPhase; count++) yield* call
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
