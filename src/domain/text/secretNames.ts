/** Names of members with secret values, such as `apiKey`, `X-API-Key` and `mcp_token`. */
const secretNamePattern =
  /(authorization|token|secret|passwd|password|api[-_]?key|cookie|credentials?|private[-_]?key)$/i

/** True for the name of a member whose value is probably a secret. */
export const isSecretName = (name: string): boolean => secretNamePattern.test(name)
