import { isSecretName } from "../../../../domain/text/secretNames.ts"

/** What programs need to run, and to reach their packages through the proxy of a company. Most names are those of a system. */
const inheritedNames = [
  ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "LC_*", "TZ", "TMPDIR", "XDG_*"],
  ["APPDATA", "COMPUTERNAME", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "OS"],
  ["PATHEXT", "PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES*", "PROGRAMW6432", "SYSTEMDRIVE", "SYSTEMROOT"],
  ["TEMP", "TMP", "USERNAME", "USERPROFILE", "WINDIR"],
  ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "NODE_USE_*"],
  ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"],
  ["PIP_*", "UV_*"],
  // Not all settings of npm: `npx -p a2c-cli a2c` passes its own package on, and another npx would run that one.
  ["CA", "CACHE", "CAFILE", "FETCH_*", "GLOBALCONFIG", "HTTP_PROXY", "HTTPS_PROXY", "NOPROXY", "OFFLINE"]
    .concat("PREFER_OFFLINE", "PROXY", "REGISTRY", "STRICT_SSL", "USERCONFIG", "@*")
    .map((name) => `NPM_CONFIG_${name}`)
].flat()

const matches = (name: string, pattern: string): boolean =>
  pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern

/**
 * The variables of this process that an MCP server inherits: what it needs to run, no secrets, and those of its configuration
 * (`inherit`, a name or a start with `*`). Names have any case, as those of Windows and of npm.
 */
export const inheritedVariables = (environment: NodeJS.ProcessEnv, configured: ReadonlyArray<string> = []) =>
  Object.fromEntries(
    Object.entries(environment).filter(([name]) => {
      const upper = name.toUpperCase()
      const isNeeded = !isSecretName(name) && inheritedNames.some((pattern) => matches(upper, pattern))
      return isNeeded || configured.some((pattern) => matches(upper, pattern.toUpperCase()))
    })
  )
