import { lookup as dnsLookup } from "node:dns"
import {
  Agent,
  type AgentOptions,
  type ClientRequest,
  type IncomingMessage,
  request,
  type RequestOptions
} from "node:http"
import { Agent as SecureAgent, request as secureRequest } from "node:https"
import type { LookupFunction, Socket } from "node:net"
import { Clock, Effect, type Scope } from "effect"
import { systemErrorCode } from "../../domain/errorMessage.ts"
import { withUserAgent } from "../../domain/packageVersion.ts"
import { environmentProxies, environmentProxyProblem, proxiesOf } from "../bytes/environmentProxies.ts"

/** Starts a request over HTTP or HTTPS. */
export type StartRequest = (
  url: URL,
  options: Omit<RequestOptions, "agent" | "headers"> & { readonly headers: { readonly [name: string]: string } }
) => ClientRequest

/** The addresses of the servers that sent these responses. A subclass of `Response` would load Node's fetch at every start. */
const senders = new WeakMap<IncomingMessage | Response, string>()

/**
 * How long a connection may be idle before a request, in milliseconds, when its server does not say how long it keeps it.
 * Node and uvicorn close idle connections after 5 seconds.
 */
const defaultMaxIdle = 4000

/** A request must reach the server this long before the server closes the idle connection, in milliseconds. */
const idleMargin = 1000

const maxIdleOf = ({ headers }: IncomingMessage): number => {
  const seconds = /\btimeout\s*=\s*"?(\d+)/i.exec(headers["keep-alive"]?.toString() ?? "")?.[1]
  return seconds === undefined ? defaultMaxIdle : Number(seconds) * 1000 - idleMargin
}

/**
 * Closes connections that their servers may be about to close. A request on one of them would be lost, and must not be
 * repeated: the server may have received it.
 */
const makeIdleLimit = (clock: Clock.Clock) => {
  const limits = new WeakMap<Socket, number>()
  const idleSince = new WeakMap<Socket, number>()
  return {
    watch: (agent: Agent) =>
      agent.on("free", (socket: Socket) => idleSince.set(socket, clock.currentTimeMillisUnsafe())),
    record: (incoming: IncomingMessage) => limits.set(incoming.socket, maxIdleOf(incoming)),
    closeStale: ({ freeSockets }: Agent): void => {
      const now = clock.currentTimeMillisUnsafe()
      for (const socket of Object.values(freeSockets).flatMap((sockets = []) => sockets)) {
        const idle = now - (idleSince.get(socket) ?? now)
        if (idle < (limits.get(socket) ?? defaultMaxIdle)) continue
        socket.destroy()
        // Otherwise the agent keeps it until its close event, and may use it.
        socket.emit("agentRemove")
      }
    }
  }
}

/** The failure of a request, which names the proxy of the environment that is down, and keeps the code. */
export const requestFailure = (url: URL, error: Error): Error => {
  const problem = environmentProxyProblem(url, error)
  return problem === undefined ? error : Object.assign(new Error(problem), { code: systemErrorCode(error) })
}

/** Makes a client whose connections close with the scope. It uses the proxies of the environment, and follows no redirects. */
export const makeHttpClient: Effect.Effect<StartRequest, never, Scope.Scope> = Effect.gen(function* () {
  const idleLimit = makeIdleLimit(yield* Clock.Clock)
  const agents: { http?: Agent; https?: Agent } = {}
  /** Makes an agent when it is needed: Node loads TLS for that of HTTPS. */
  const agentOf = (scheme: "http" | "https"): Agent => {
    const options: AgentOptions = { keepAlive: true, ...environmentProxies(scheme) }
    return (agents[scheme] ??= idleLimit.watch(scheme === "https" ? new SecureAgent(options) : new Agent(options)))
  }
  /** Origins without a proxy: only their names are looked up here. */
  const directOrigins = new Set<string>()
  yield* Effect.addFinalizer(() => Effect.sync(() => Object.values(agents).forEach((agent) => agent.destroy())))
  return (url, given) => {
    const lookup: LookupFunction = (...parameters) => {
      directOrigins.add(url.origin)
      const resolve = given.lookup ?? dnsLookup
      resolve(...parameters)
    }
    const isSecure = url.protocol === "https:"
    const agent = agentOf(isSecure ? "https" : "http")
    const send: typeof request = isSecure ? secureRequest : request
    idleLimit.closeStale(agent)
    const options = { ...given, headers: withUserAgent(given.headers), lookup, agent }
    return send(url, options).once("response", (incoming) => {
      idleLimit.record(incoming)
      const { remoteAddress } = incoming.socket
      const isDirect = proxiesOf(agent) === undefined || directOrigins.has(url.origin)
      if (isDirect && remoteAddress !== undefined) senders.set(incoming, remoteAddress)
    })
  }
})

/** The address of the server that sent a response; `undefined` when it may be the address of a proxy. */
export const serverAddressOf = (response: Response): string | undefined => senders.get(response)

export const withServerAddress = (response: Response, address: string | undefined): Response => {
  if (address !== undefined) senders.set(response, address)
  return response
}

export const bodilessStatuses: ReadonlySet<number> = new Set([204, 205, 304])

/** True for the statuses that `Response` accepts; a peer can send any three digits. */
export const isResponseStatus = (status: number): boolean => status >= 200 && status <= 599

/** The characters that `Response` accepts in a status text; a peer can send other bytes. */
const statusTextPattern = /^[\t\x20-\x7e\x80-\xff]*$/

export const toResponse = (incoming: IncomingMessage, body: ReadableStream | null): Response => {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    for (const value of values) headers.append(name, value)
  }
  const { statusCode: status = 500, statusMessage: statusText = "" } = incoming
  const init = { status, statusText: statusTextPattern.test(statusText) ? statusText : "", headers }
  return withServerAddress(new Response(body, init), senders.get(incoming))
}
