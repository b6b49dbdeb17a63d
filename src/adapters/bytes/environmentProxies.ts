import type { AgentOptions } from "node:http"

/**
 * The proxies of the environment as an option of agents on Node: those of Node's own global agent, which has them with
 * `NODE_USE_ENV_PROXY=1`, with `--use-env-proxy`, and after `http.setGlobalProxyFromEnv`.
 */
export const environmentProxies = (scheme: "http" | "https"): Pick<AgentOptions, "proxyEnv"> => {
  const { globalAgent } = process.getBuiltinModule(`node:${scheme}`)
  // The types of Node lack this property.
  const { options } = globalAgent as { readonly options?: AgentOptions }
  return options?.proxyEnv === undefined ? {} : { proxyEnv: options.proxyEnv }
}
