import { Cause, Clock, Context, Effect, Exit, Metric, Option, Record, type Scope, type Tracer } from "effect"
import { truncateText } from "../../application/shared/logLimits.ts"
import { inSpan, isTracing, remoteParent } from "../../application/shared/tracing.ts"
import type { JsonObject } from "../../domain/json.ts"
import { definedOnly } from "../../domain/objects.ts"
import { formatTraceparent, type Propagation } from "../../domain/traceContext.ts"

/** Attributes by the OpenTelemetry GenAI semantic conventions 0.1.0, which cover MCP; undefined ones are left out. */
export type McpAttributes = { readonly [name: string]: string | number | undefined }

/** Series of one session or publication at most: peers choose the names of tools and methods. */
const maxSeries = 256

/** True where metrics are exported: others cost nothing. A tracer implies it. */
export const MetricsExported = Context.Reference("a2c-smcp/adapters/mcp/MetricsExported", { defaultValue: () => false })

/** What the requests to MCP servers carry on for the host whose request is served. */
const HostPropagation = Context.Reference<{ current: Propagation }>("a2c-smcp/adapters/mcp/HostPropagation", {
  defaultValue: () => ({ current: {} })
})

/** Codes of JSON-RPC that blame the request, and that of an unknown resource: they are no errors of a server. */
const requestErrors = [-32_700, -32_600, -32_601, -32_602, -32_002]

type Failure = { readonly code?: number; readonly reason?: string; readonly message: string }

/** The attributes of an end. A failure without a code has its HTTP status or its reason, never the text of the peer. */
const endAttributes = (side: Side, exit: Exit.Exit<JsonObject, Failure>): McpAttributes => {
  if (Exit.isSuccess(exit)) return exit.value["isError"] === true ? { "error.type": "tool_error" } : {}
  const failure = Option.getOrUndefined(Cause.findErrorOption(exit.cause))
  if (failure === undefined) return { "error.type": Cause.hasInterruptsOnly(exit.cause) ? "cancelled" : "_OTHER" }
  const { code, message, reason } = failure
  if (code === undefined) return { "error.type": /^HTTP (\d{3})\b/.exec(message)?.[1] ?? reason }
  const status = { "rpc.response.status_code": String(code) }
  return side === "server" && requestErrors.includes(code) ? status : { ...status, "error.type": String(code) }
}

/** The attributes of a request, whose name is that of a tool or a prompt. */
const labelsOf = (method: string, version: string | undefined, name: string | undefined): McpAttributes => ({
  "mcp.method.name": method,
  "mcp.protocol.version": version,
  ...(method === "tools/call" && { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name }),
  ...(method === "prompts/get" && { "gen_ai.prompt.name": name })
})

/** The resource of a request, without credentials, query and fragment. */
const resourceOf = ({ uri }: JsonObject): McpAttributes =>
  typeof uri === "string" && URL.canParse(uri)
    ? { "mcp.resource.uri": truncateText(uri.replace(/[?#].*$/s, "").replace(/^([^/]*\/\/)[^/]*@/, "$1")) }
    : {}

/** How the messages of one side of MCP travel. */
export interface McpConnection {
  readonly network: McpAttributes
  /** The `Mcp-Session-Id`. */
  readonly sessionId?: (() => string | undefined) | undefined
}

/** MCP over stdio. */
export const pipeNetwork: McpAttributes = { "network.transport": "pipe" }

/** MCP over HTTP; a client gives the URL of its server. */
export const httpNetwork = (url?: URL): McpAttributes => ({
  "network.transport": "tcp",
  "network.protocol.name": "http",
  "server.address": url?.hostname,
  "server.port": url && (Number(url.port) || (url.protocol === "https:" ? 443 : 80))
})

/** A request, attributes of its span that have too many values for labels, and what a host sent with it. */
interface Operation {
  readonly method: string
  readonly params: JsonObject
  readonly version: string | undefined
  readonly details: McpAttributes
  readonly host?: Propagation
}

/** Runs a request with what it carries on; `onSent` records the id that it gets. */
type Run<E> = (carried: Propagation, onSent?: (id: string | number) => void) => Effect.Effect<JsonObject, E>

type Side = "client" | "server"

const makeHistogram = (side: Side, measured: "operation" | "session", attributes: McpAttributes) =>
  Metric.histogram(`mcp.${side}.${measured}.duration`, {
    description: `Duration of MCP ${measured === "operation" ? "requests" : "sessions"} at the ${side}`,
    boundaries: [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300],
    attributes: Record.map(definedOnly({ unit: "s", ...attributes }), String)
  })

const isObserved = (context: Context.Context<never>): boolean =>
  isTracing(context) || Context.get(context, MetricsExported)

/** Measures a session until the scope closes. */
export const measureSession = (
  side: Side,
  network: McpAttributes,
  version: () => string | undefined
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.withFiber(({ context }) => {
    if (!isObserved(context)) return Effect.void
    const clock = Context.get(context, Clock.Clock)
    const began = clock.currentTimeMillisUnsafe()
    return Effect.addFinalizer(() =>
      Effect.sync(() => {
        const histogram = makeHistogram(side, "session", { ...network, "mcp.protocol.version": version() })
        histogram.updateUnsafe((clock.currentTimeMillisUnsafe() - began) / 1000, context)
      })
    )
  })

/** Makes a function that observes requests on one side of MCP in histograms, and in spans when a tracer records them. */
export const makeMcpTelemetry = (side: Side, network: McpAttributes) => {
  const known = new Map<string, Metric.Histogram<number>>()
  const addHistogram = (key: string, labels: McpAttributes) => {
    const shown = known.size < maxSeries ? labels : { "mcp.method.name": "_OTHER" }
    const made = makeHistogram(side, "operation", { ...network, ...shown })
    if (known.size < maxSeries) known.set(key, made)
    return made
  }
  return <E extends Failure>(operation: Operation, run: Run<E>): Effect.Effect<JsonObject, E> =>
    Effect.withFiber(({ context }) => {
      const { details, host, params, version } = operation
      const isHost = host?.traceparent !== undefined || host?.baggage !== undefined
      // Fibers that outlive a request of a host inherit the cell, so it is emptied.
      const cell = isHost ? { current: host } : Context.get(context, HostPropagation)
      if (!isHost && !isObserved(context)) return run(cell.current)
      const method = truncateText(operation.method)
      const isNamed = (method === "tools/call" || method === "prompts/get") && typeof params["name"] === "string"
      const name = isNamed ? truncateText(String(params["name"])) : undefined
      const clock = Context.get(context, Clock.Clock)
      const began = clock.currentTimeMillisUnsafe()
      const onEnd = (exit: Exit.Exit<JsonObject, E>, span: Tracer.Span | undefined) => {
        if (isHost) cell.current = {}
        const end = endAttributes(side, exit)
        const { "error.type": error, "rpc.response.status_code": code } = end
        const key = `${version}\n${method}\n${name}\n${error}\n${code}`
        const histogram = known.get(key) ?? addHistogram(key, { ...labelsOf(method, version, name), ...end })
        histogram.updateUnsafe((clock.currentTimeMillisUnsafe() - began) / 1000, context)
        if (span === undefined) return
        for (const [one, value] of Object.entries(end)) span.attribute(one, value)
        span.end(clock.currentTimeNanosUnsafe(), error === undefined ? Exit.void : Exit.fail(error))
      }
      const start = (span?: Tracer.Span) => {
        const traceparent = span && formatTraceparent(span)
        const id = "jsonrpc.request.id"
        const onSent = span && ((to: string | number) => span.attributes.has(id) || span.attribute(id, String(to)))
        const running = run(traceparent === undefined ? cell.current : { ...cell.current, traceparent }, onSent)
        const served = isHost ? Effect.provideService(running, HostPropagation, cell) : running
        return Effect.onExit(served, (exit) => Effect.sync(() => onEnd(exit, span)))
      }
      if (!isTracing(context)) return start()
      const options = {
        kind: side,
        attributes: definedOnly({ ...labelsOf(method, version, name), ...network, ...resourceOf(params), ...details }),
        ...(side === "server" && remoteParent(host?.traceparent))
      }
      return inSpan(name === undefined ? method : `${method} ${name}`, options, start)
    })
}
