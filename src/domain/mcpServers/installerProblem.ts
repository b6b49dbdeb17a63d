/** With `cafile`, npm ignores the variable. */
const npmCertificates = "NODE_EXTRA_CA_CERTS, or cafile of npm where that is set,"

/** Programs that load the package of a server before they start it, and the settings of the certificates that they trust. */
const certificateSettings: ReadonlyMap<string, string> = new Map([
  ["npm", npmCertificates],
  ["npx", npmCertificates],
  ["pnpm", npmCertificates],
  ["uv", "SSL_CERT_FILE"],
  ["uvx", "SSL_CERT_FILE"]
])

const programOf = (command: string): string => command.replace(/^.*[\\/]/s, "").replace(/\.(?:cmd|exe)$/i, "")

/** True for a program that may load a package before it starts a server. */
export const isInstaller = (command: string): boolean => certificateSettings.has(programOf(command))

/** What the errors of npm (by their codes) and of uv (by their words) mean. */
const problems: ReadonlyArray<readonly [pattern: RegExp, toReason: (certificates: string) => string]> = [
  [
    /^npm (?:error|ERR!) code (\w*(?:SELF_SIGNED_CERT|CERT_|UNABLE_TO_)\w*)|invalid peer certificate/,
    (certificates) =>
      `the certificate of its registry is not trusted. Set ${certificates} to a file with the certificate of your proxy`
  ],
  [
    /^npm (?:error|ERR!) code (E(?:CONN|TIMEDOUT|HOST|NET|AI_)\w*|ENOTFOUND|ERR_SOCKET\w*|\w*TIMEOUT)|dns error|error sending request|tcp connect error/,
    () => "its registry cannot be reached. Behind a proxy, set HTTPS_PROXY"
  ],
  [
    /^npm (?:error|ERR!) code (E404|ETARGET)|not found in the package registry|no version of/,
    () => "there is no such package or version"
  ],
  [/^npm (?:error|ERR!) code (E401|E403)|status code 40[13]/, () => "its registry does not permit access"]
]

/**
 * Explains why a program such as `npx` could not load the package of a server, from the lines of its stderr; `undefined` for other
 * output. The text quotes only the code of the error, so an office may see it.
 */
export const explainInstaller = (command: string, lines: ReadonlyArray<string>): string | undefined => {
  const program = programOf(command)
  const certificates = certificateSettings.get(program)
  if (certificates === undefined) return undefined
  for (const [pattern, toReason] of problems) {
    const match = lines.map((line) => pattern.exec(line)).find((found) => found !== null)
    if (match === undefined) continue
    const [, code] = match
    return `${program} cannot load the package${code === undefined ? "" : ` (${code})`}: ${toReason(certificates)}`
  }
  return undefined
}

/** The last line of stderr that tells something: npm ends with the path of its log. */
export const tellingLine = (lines: ReadonlyArray<string>): string | undefined =>
  lines.findLast((line) => !/^npm (?:error|ERR!|notice)\s*(?:$|A complete log)/.test(line)) ?? lines.at(-1)
