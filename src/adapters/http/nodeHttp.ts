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
import type { LookupFunction } from "node:net"
import { Effect, type Scope } from "effect"
import { withUserAgent } from "../../domain/packageVersion.ts"
import { environmentProxies } from "../bytes/environmentProxies.ts"

/** Starts a request over HTTP or HTTPS. */
export type StartRequest = (
  url: URL,
  options: Omit<RequestOptions, "agent" | "headers"> & { readonly headers: { readonly [name: string]: string } }
) => ClientRequest

/** The addresses of the servers that sent these responses, not those of proxies. */
const senders = new WeakMap<IncomingMessage, string>()

/** Makes a client whose connections close with the scope. It uses the proxies of the environment, and follows no redirects. */
export const makeHttpClient: Effect.Effect<StartRequest, never, Scope.Scope> = Effect.gen(function* () {
  const optionsFor = (scheme: "http" | "https"): AgentOptions => ({ keepAlive: true, ...environmentProxies(scheme) })
  const agents = { plain: new Agent(optionsFor("http")), secure: new SecureAgent(optionsFor("https")) }
  const behindProxy = environmentProxies("http").proxyEnv ?? environmentProxies("https").proxyEnv
  /** Origins without a proxy: only their names are looked up here. */
  const directOrigins = new Set<string>()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      agents.plain.destroy()
      agents.secure.destroy()
    })
  )
  return (url, given) => {
    const lookup: LookupFunction = (...parameters) => {
      directOrigins.add(url.origin)
      const resolve = given.lookup ?? dnsLookup
      resolve(...parameters)
    }
    const options = { ...given, headers: withUserAgent(given.headers), lookup }
    const started =
      url.protocol === "https:"
        ? secureRequest(url, { ...options, agent: agents.secure })
        : request(url, { ...options, agent: agents.plain })
    return started.once("response", (incoming) => {
      const { remoteAddress } = incoming.socket
      const isDirect = behindProxy === undefined || directOrigins.has(url.origin)
      if (isDirect && remoteAddress !== undefined) senders.set(incoming, remoteAddress)
    })
  }
})

// A subclass of `Response` would load Node's fetch at the start of every process.
const serverAddresses = new WeakMap<Response, string>()

/** The address of the server that sent a response; `undefined` when it may be the address of a proxy. */
export const serverAddressOf = (response: Response): string | undefined => serverAddresses.get(response)

export const withServerAddress = (response: Response, address: string | undefined): Response => {
  if (address !== undefined) serverAddresses.set(response, address)
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
