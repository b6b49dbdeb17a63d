/** The `engines` of package.json, which npm only warns about. */
const minimum = { major: 22, minor: 19 }

/**
 * Explains that this version of Node is too old; undefined on a supported one and in other runtimes. Old versions must be
 * able to parse this file and its importers.
 */
export const nodeVersionError = (): string | undefined => {
  // Browsers have no process, and Bun and Deno state a version of Node that they imitate.
  const versions: { readonly [runtime: string]: string | undefined } =
    typeof process === "object" && typeof process.versions === "object" ? process.versions : {}
  const { bun, deno, node } = versions
  if (node === undefined || bun !== undefined || deno !== undefined) return undefined
  const [major = 0, minor = 0] = node.split(".").map(Number)
  const isSupported = major > minimum.major || (major === minimum.major && minor >= minimum.minor)
  return isSupported ? undefined : `Node ${minimum.major}.${minimum.minor} or later is required, this is v${node}`
}
