/**
 * Measures what a policy of twenty rules costs a call. Only the last rule applies. Agent, Server and Computer run in this
 * process, and the CPU time of their calls is compared with that of calls which `auto_apply` allows. The MCP server, a
 * process on stdio, does not count. bench/README.md has the results.
 * Usage: node bench/rules.ts [PHASES]
 */
import { fileURLToPath } from "node:url"
import { Context, Effect, Layer, Logger, Result, type Scope } from "effect"
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
import { makeRuleDecider } from "../src/domain/policy/decideByRules.ts"
import type { Rule } from "../src/domain/policy/parseRules.ts"
import { computerLayer } from "../src/main/layers/computerLayer.ts"
import { AuditLog } from "../src/application/ports/AuditLog.ts"

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

let hasRules = false

const decideByRules = makeRuleDecider(rules)

/** The same Computer with and without rules: two Computers differ by more than the rules cost. */
const policy = Layer.succeed(Policy, {
  decide: (call) => Effect.sync(() => decideByRules(call)),
  decideNow: (call) => (hasRules ? decideByRules(call) : undefined)
})

/** An Agent that calls a tool of its Computer. */
const site = Effect.fnUntraced(function* (url: string) {
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
  const place = { url, office: "team" }
  const computer = computerLayer({ ...place, name: "desk", config }).pipe(Layer.provide([policy, AuditLog.layerNone]))
  const { catalogue } = Context.get(yield* Layer.build(computer), Computer)
  yield* Effect.repeat(Effect.delay(catalogue, "10 millis"), { until: ({ entries }) => entries.has("echo") })
  const agent = Context.get(
    yield* Agent.layer({ name: "thinker", office: "team" }).pipe(
      Layer.provide(SocketIoClient.layer(place)),
      Layer.build
    ),
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
  const call = yield* site(server.url)
  const cost = Effect.fnUntraced(function* (withRules: boolean) {
    hasRules = withRules
    const before = process.cpuUsage()
    yield* Effect.all(
      Array.from({ length: callsPerPhase }, () => call),
      { concurrency: callsAtOnce, discard: true }
    )
    const { system, user } = process.cpuUsage(before)
    return (system + user) / callsPerPhase
  })
  for (const withRules of [false, true, false, true]) yield* cost(withRules)
  const ratios: { readonly [name: string]: Array<number> } = { rules: [], itself: [] }
  const micros: Array<number> = []
  for (let phase = 0; phase < phases; phase++) {
    const reference = yield* cost(false)
    micros.push(reference)
    // Either order: the machine may slow down or speed up.
    const rulesFirst = phase % 2 === 0
    const [one, other] = [yield* cost(rulesFirst), yield* cost(!rulesFirst)]
    ratios["rules"]?.push((rulesFirst ? one : other) / reference)
    ratios["itself"]?.push((rulesFirst ? other : one) / reference)
  }
  process.stdout.write(`CPU per call without rules: ${median(micros).toFixed(0)} µs\n`)
  for (const [name, values] of Object.entries(ratios))
    process.stdout.write(`with ${name} ÷ without: ${median(values).toFixed(3)}\n`)
})

await Effect.runPromise(Effect.provide(Effect.scoped(measure), Logger.layer([])))
process.exit(0)
