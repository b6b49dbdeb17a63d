import { homedir } from "node:os"
import { isAbsolute, join } from "node:path"

/** A file of the command in the state folder of the user. */
export const userStateFile = (
  name: string,
  env: { readonly [name: string]: string | undefined } = process.env,
  home: string = homedir()
): string => {
  // The XDG specification ignores relative paths.
  const configured = env["XDG_STATE_HOME"] ?? ""
  return join(isAbsolute(configured) ? configured : join(home, ".local", "state"), "a2c", name)
}
