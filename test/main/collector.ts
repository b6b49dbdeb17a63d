import { json as jsonOf } from "node:stream/consumers"
import { Effect, type Scope } from "effect"
import { makeVictim } from "../adapters/http/victim.ts"
import { type Cli, cli, everythingServer, node, outcomeOf, temporaryFile } from "./processes.ts"

type Variables = { readonly [name: string]: string }

/** Starts a Computer with a real MCP server that has the tool `echo`. */
export const compute = Effect.fnUntraced(function* (url: string, variables: Variables = {}) {
  const mcpServers = { everything: { command: process.execPath, args: [everythingServer] } }
  const config = yield* temporaryFile("mcp.json", JSON.stringify({ mcpServers }))
  const place = ["--server", url, "--office", "team", "--name", "desk"]
  const started = yield* node([cli, "computer", ...place, "--config", config, "--approve", "*"], variables)
  yield* started.prints("joined office")
  return started
})

/** Runs a command of an Agent until it ends. */
export const act = (url: string, args: ReadonlyArray<string>, variables: Variables = {}) =>
  Effect.flatMap(node([cli, "agent", "--server", url, "--office", "team", ...args], variables), outcomeOf)

/** Stops a process in order. */
export const stop = ({ ended, signal }: Cli, name: "SIGINT" | "SIGTERM" = "SIGINT") =>
  Effect.andThen(signal(name), ended)

export const echo = (message: string) => ["call", "echo", "--args", JSON.stringify({ message })]

/** A span as a collector receives it, with its service. */
export interface Span {
  readonly service: string
  readonly name: string
  readonly kind: number
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: { readonly stringValue?: string } }>
}

interface Resource {
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: { readonly stringValue: string } }>
}

interface Exported {
  readonly resourceSpans?: ReadonlyArray<{
    readonly resource: Resource
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
  readonly resourceMetrics?: ReadonlyArray<{
    readonly resource: Resource
    readonly scopeMetrics: ReadonlyArray<{
      readonly metrics: ReadonlyArray<{ readonly name: string; readonly unit: string }>
    }>
  }>
}

const serviceOf = ({ attributes }: Resource) =>
  attributes.find(({ key }) => key === "service.name")?.value.stringValue ?? ""

/** An OpenTelemetry collector. It keeps spans, and metrics as `service name unit`. */
export const collector: Effect.Effect<
  {
    readonly url: string
    readonly spans: ReadonlyArray<Span>
    readonly metrics: ReadonlySet<string>
    readonly paths: ReadonlySet<string>
  },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const spans: Array<Span> = []
  const metrics = new Set<string>()
  const paths = new Set<string>()
  const { url } = yield* makeVictim((request, response) => {
    paths.add(request.url ?? "")
    void jsonOf(request).then((body) => {
      const { resourceMetrics = [], resourceSpans = [] } = body as Exported
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = serviceOf(resource)
        for (const { spans: some } of scopeSpans) spans.push(...some.map((span) => ({ ...span, service })))
      }
      for (const { resource, scopeMetrics } of resourceMetrics) {
        const some = scopeMetrics.flatMap((scope) => scope.metrics)
        for (const { name, unit } of some) metrics.add(`${serviceOf(resource)} ${name} ${unit}`)
      }
      response.writeHead(200, { "Content-Type": "application/json" }).end("{}")
    })
  })
  return { url, spans, metrics, paths }
})
