import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

// The program of the command imports this file before Node keeps compiled code, so it imports no package.

type Environment = { readonly [name: string]: string | undefined }

/** The home folder of the user. Unknown when `HOME` is no absolute path, or is not set and the user id has no account. */
export const homeFolder = (): string | undefined => {
  try {
    const home = homedir()
    return isAbsolute(home) ? home : undefined
  } catch {
    return undefined
  }
}

/** What to do when a command needs a folder of the user: the variables that replace the unknown home folder. */
export const noHomeAdvice = (variable?: string): string =>
  `the home folder is unknown: set HOME${variable === undefined ? "" : ` or ${variable}`}`

/** A path below the folder that a variable of the XDG specification sets, which ignores relative paths. */
export const pathBelow = (
  configured = "",
  home: string | undefined,
  inHome: string,
  ...path: ReadonlyArray<string>
) => {
  if (isAbsolute(configured)) return join(configured, ...path)
  return home === undefined ? undefined : join(home, inHome, ...path)
}

/** A file of the command in the state folder of the user, if that is known. */
export const userStateFile = (name: string, env: Environment = process.env, home = homeFolder()): string | undefined =>
  pathBelow(env["XDG_STATE_HOME"], home, ".local/state", "a2c", name)

/** A folder of the command for files that it can make again, if one is known. */
export const userCacheFolder = (name: string, env: Environment = process.env, home = homeFolder()) =>
  pathBelow(env["XDG_CACHE_HOME"], home, ".cache", "a2c-smcp", name)
