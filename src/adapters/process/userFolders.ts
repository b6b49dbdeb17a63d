import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

type Environment = { readonly [name: string]: string | undefined }

/** The folder that a variable of the XDG specification sets, which ignores relative paths. */
const folderOf = (configured = "", fallback: string): string => (isAbsolute(configured) ? configured : fallback)

/** A file of the command in the state folder of the user. */
export const userStateFile = (name: string, env: Environment = process.env, home: string = homedir()): string =>
  join(folderOf(env["XDG_STATE_HOME"], join(home, ".local", "state")), "a2c", name)

/** A folder of the command for files that it can make again. */
export const userCacheFolder = (name: string, env: Environment = process.env, home: string = homedir()): string =>
  join(folderOf(env["XDG_CACHE_HOME"], join(home, ".cache")), "a2c-smcp", name)
