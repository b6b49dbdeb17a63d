import { Deferred, Effect, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"

/** Reads the id of a process group and kills the group at the end of the input. The system closes the input with this process. */
const watcherScript = `
trap '' ABRT ALRM HUP INT PIPE QUIT TERM USR1 USR2
read -r group && { read -r _; kill -s KILL -- -"$group"; }
`

/** The exit code of the shell when the program does not exist. */
export const missingProgramCode = 127

/** Starts the command only after a line on descriptor 3. Without it, this process has ended. */
const startScript = `read -r _ <&3 && exec "$@" 3<&-`

const line = (text: string): Uint8Array => new TextEncoder().encode(`${text}\n`)

/** Runs in a separate session, which signals of the terminal and of other process groups do not reach. */
const watcherCommand = ChildProcess.make("/bin/sh", ["-c", watcherScript], {
  cwd: "/",
  env: {},
  stdin: { stream: "pipe", endOnDone: false },
  stdout: "ignore",
  stderr: "ignore",
  killSignal: "SIGKILL"
})

/**
 * Starts a command in a process group that ends with this process, even after SIGKILL. When the scope closes, the group is
 * terminated first, then its watcher. A child that loses its watcher is killed. A process that leaves the group, as
 * `setsid` does, is out of reach. Windows has no watcher.
 *
 * `/bin/sh` starts the command: a missing program exits with `missingProgramCode`.
 */
export const spawnGuarded = Effect.fnUntraced(function* ({ args, command, options }: ChildProcess.StandardCommand) {
  const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
  if (process.platform === "win32") return yield* spawner.spawn(ChildProcess.make(command, args, options))
  // Started first, and therefore released last.
  const watcher = yield* spawner.spawn(watcherCommand)
  const watched = yield* Deferred.make<void>()
  const start = Stream.fromEffect(Effect.as(Deferred.await(watched), line("start")))
  const child = yield* spawner.spawn(
    ChildProcess.make("/bin/sh", ["-c", startScript, "sh", command, ...args], {
      ...options,
      additionalFds: { fd3: { type: "input", stream: start } }
    })
  )
  yield* Stream.run(Stream.make(line(String(child.pid))), watcher.stdin)
  yield* Deferred.succeed(watched, undefined)
  yield* Effect.exit(watcher.exitCode).pipe(
    Effect.andThen(child.kill({ killSignal: "SIGKILL" })),
    Effect.ignore,
    Effect.forkScoped
  )
  return child
})
