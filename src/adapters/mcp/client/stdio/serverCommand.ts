import { ChildProcess } from "effect/process"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"

export const shutdownTimeouts = { afterInputEnd: "300 millis", afterTerminate: "2 seconds" } as const

/** The environment variables that a server inherits: what it needs to run, and no secrets. */
const inheritedNames = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "SystemRoot", "APPDATA"]

export const makeCommand = ({ args, command, cwd, env }: StdioParameters, environment: NodeJS.ProcessEnv) => {
  const given = Object.fromEntries(
    inheritedNames.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
  )
  return ChildProcess.make(command, args, {
    ...(cwd !== null && cwd !== "" && { cwd }),
    env: { ...given, ...env },
    forceKillAfter: shutdownTimeouts.afterTerminate
  })
}
