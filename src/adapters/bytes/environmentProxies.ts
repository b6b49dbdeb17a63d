import type { Agent, AgentOptions } from "node:http"

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
