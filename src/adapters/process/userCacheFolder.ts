import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

/** A folder of the command for files that it can make again. */
export const userCacheFolder = (
  name: string,
  env: { readonly [name: string]: string | undefined } = process.env,
  home: string = homedir()
): string => {
  // The XDG specification ignores relative paths.
  const configured = env["XDG_CACHE_HOME"] ?? ""
  return join(isAbsolute(configured) ? configured : join(home, ".cache"), "a2c-smcp", name)
}
