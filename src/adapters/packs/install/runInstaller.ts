import { Duration, Effect, Stream } from "effect"
import { ChildProcess } from "effect/process"
import { PackInstallError } from "../../../application/ports/packs/PackInstaller.ts"
import { thrownMessage } from "../../tools/runPackCode.ts"
import { missingProgramCode, spawnGuarded } from "../../process/spawnGuarded.ts"

const shutdownTimeout = "2 seconds"

/** In characters. */
const maxLineLength = 500

const maxErrorLines = 50

export const installFailed = (message: string): PackInstallError => new PackInstallError({ message })

/** Makes a function that runs work on files, and names the problem when it fails. */
export const fileOperation =
  (problem: string) =>
  <A>(work: () => Promise<A>): Effect.Effect<A, PackInstallError> =>
    Effect.tryPromise({ try: work, catch: (error) => installFailed(`${problem}: ${thrownMessage(error)}`) })

interface Installer {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly folder: string
  /** True for a line that tells why it fails. */
  readonly isError: (line: string) => boolean
  /** The reason, from these lines. */
  readonly reasonOf: (errors: ReadonlyArray<string>) => string
  readonly timeout: Duration.Input
}

const run = Effect.fnUntraced(function* (
  { args, command, folder, isError, reasonOf }: Installer,
  onLine: (line: string) => Effect.Effect<void>
) {
  const notStarted = installFailed(`${command} cannot be started: is it installed?`)
  const child = yield* spawnGuarded(
    ChildProcess.make(command, args, { cwd: folder, stdin: "ignore", forceKillAfter: shutdownTimeout })
  ).pipe(Effect.mapError(() => notStarted))
  const errors: Array<string> = []
  yield* child.all.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.mapError(() => installFailed(`reading the output of ${command} failed`)),
    Stream.runForEach((output) => {
      const line = output.slice(0, maxLineLength).trimEnd()
      if (isError(line) && errors.length < maxErrorLines) errors.push(line)
      return line === "" ? Effect.void : onLine(line)
    })
  )
  const code = yield* Effect.mapError(child.exitCode, () => installFailed(`${command} was killed by a signal`))
  if (code === 0) return
  // What it starts may exit with the same code; it then reports errors.
  if (code === missingProgramCode && errors.length === 0) return yield* notStarted
  return yield* installFailed(reasonOf(errors) || `${command} exited with code ${code}`)
}, Effect.scoped)

/** Runs an installer. Interruption kills it and its child processes. */
export const runInstaller = (installer: Installer, onLine: (line: string) => Effect.Effect<void>) =>
  Effect.timeoutOrElse(run(installer, onLine), {
    duration: installer.timeout,
    orElse: () => {
      const timeout = Duration.format(Duration.fromInputUnsafe(installer.timeout))
      return Effect.fail(installFailed(`${installer.command} timed out after ${timeout}`))
    }
  })
