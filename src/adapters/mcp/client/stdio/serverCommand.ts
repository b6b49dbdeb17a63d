import { ChildProcess } from "effect/process"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"

export const shutdownTimeouts = { afterInputEnd: "300 millis", afterTerminate: "2 seconds" } as const

/** The environment variables that a server inherits: what it needs to run, and no secrets. */
const inheritedNames = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TMPDIR", "SystemRoot", "APPDATA"]

/**
 * Runs the command so that its process group ends with this process. A watcher in the group reads descriptor 3, which
 * the system closes then, and kills the group. The shell exits with the command's status.
 */
const guardScript = `
exec 4<&0 </dev/null
"$@" <&4 3<&- 4<&- & server=$!
exec 4<&- >/dev/null 2>&1
(read -r _ <&3; kill -s KILL -- -$$) & watcher=$!
exec 3<&-
trap : TERM
wait $server; status=$?
while kill -0 $server; do wait $server; status=$?; done
kill -s KILL $watcher; wait $watcher
exit $status
`

export const makeCommand = ({ args, command, cwd, env }: StdioParameters, environment: NodeJS.ProcessEnv) => {
  const given = Object.fromEntries(
    inheritedNames.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
  )
  const options = {
    ...(cwd !== null && { cwd }),
    env: { ...given, ...env },
    forceKillAfter: shutdownTimeouts.afterTerminate
  } as const
  return process.platform === "win32"
    ? ChildProcess.make(command, args, options)
    : ChildProcess.make("/bin/sh", ["-c", guardScript, "sh", command, ...args], {
        ...options,
        additionalFds: { fd3: { type: "input" } }
      })
}
