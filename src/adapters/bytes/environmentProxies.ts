import type { Agent, AgentOptions } from "node:http"
import { formatNetworkError } from "./networkErrors.ts"

/** The proxies that an agent uses. The types of Node lack its options. */
export const proxiesOf = (agent: Agent): AgentOptions["proxyEnv"] =>
  (agent as { readonly options?: AgentOptions }).options?.proxyEnv

/**
 * The proxies of the environment as an option of agents on Node: those of Node's own global agent, which has them with
 * `NODE_USE_ENV_PROXY=1`, with `--use-env-proxy`, and after `http.setGlobalProxyFromEnv`.
 */
export const environmentProxies = (scheme: "http" | "https"): Pick<AgentOptions, "proxyEnv"> => {
  const { globalAgent } = process.getBuiltinModule(`node:${scheme}`)
  const proxyEnv = proxiesOf(globalAgent)
  return proxyEnv === undefined ? {} : { proxyEnv }
}

/** The proxy at which a connection to an origin failed, as `HOST:PORT`; its URL may hold a password. */
const failedProxy = (proxies: AgentOptions["proxyEnv"], origin: string, error: Error): string | undefined => {
  const [lower, upper] = /^(?:https|wss):/.test(origin)
    ? [proxies?.["https_proxy"], proxies?.["HTTPS_PROXY"]]
    : [proxies?.["http_proxy"], proxies?.["HTTP_PROXY"]]
  const proxy = URL.parse(lower ?? upper ?? "")
  if (proxy === null) return undefined
  const port = Number(proxy.port) || (proxy.protocol === "https:" ? 443 : 80)
  const isProxys =
    ("port" in error && error.port === port && !origin.endsWith(`:${port}`)) ||
    ("hostname" in error && error.hostname === proxy.hostname)
  return isProxys ? `${proxy.hostname}:${port}` : undefined
}

/** Says that a connection to an origin failed at a proxy, and why; `undefined` for another failure. */
export const proxyProblem = (proxies: AgentOptions["proxyEnv"], origin: string, error: unknown): string | undefined => {
  // The errors of all addresses of a host have no message together.
  const [part]: ReadonlyArray<unknown> = error instanceof AggregateError ? error.errors : [error]
  const proxy = part instanceof Error ? failedProxy(proxies, origin, part) : undefined
  return proxy === undefined ? undefined : `the proxy ${proxy}: ${formatNetworkError(part)}`
}

/** {@link proxyProblem} for a request that uses the proxies of the environment. */
export const environmentProxyProblem = ({ origin, protocol }: URL, error: unknown): string | undefined =>
  proxyProblem(environmentProxies(protocol === "https:" ? "https" : "http").proxyEnv, origin, error)
