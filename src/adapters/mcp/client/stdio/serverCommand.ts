import { ChildProcess } from "effect/process"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"

/** How long a server may take to end by itself when its input ends, and after it was told to terminate. */
export const shutdownTimeouts = { afterInputEnd: "300 millis", afterTerminate: "2 seconds" } as const

/** What a child inherits from us unless its configuration says otherwise: what it takes to run, and no secrets. */
const inheritedVariables = [
  "HOME",
  "LOGNAME",
  "PATH",
  "SHELL",
  "TERM",
  "USER",
  "LANG",
  "TMPDIR",
  "SystemRoot",
  "APPDATA"
]

/**
 * Runs the command so that nothing of it outlives us, however we end. A watcher in its process group waits on
 * descriptor 3, which the system closes when we are gone, and then kills the group. The shell stays to collect its
 * children, and ends as the command ended.
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
    inheritedVariables.flatMap((name) => (environment[name] === undefined ? [] : [[name, environment[name]]]))
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
