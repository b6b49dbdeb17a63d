import { Duration, Effect, Layer, Stream } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import { PackInstallError, PackInstaller } from "../../../application/ports/packs/PackInstaller.ts"
import {
  arePresent,
  clearInstalled,
  isInstalled,
  markInstalled,
  type InstallTarget,
  prepareManifest
} from "./installState.ts"
import { thrownMessage } from "../execution/thrown.ts"

/** How packages are installed. */
export interface NpmOptions {
  /** Let packages run their scripts while they are installed, which is to run their code; they may not unless given. */
  readonly allowScripts?: boolean
  /** How long one pack may take; five minutes unless given. */
  readonly timeout?: Duration.Input
  /** @internal Another program than npm. */
  readonly command?: string
}

/** How long npm may clean up when it is told to end. */
const shutdownTimeout = "2 seconds"

/** How much of a line of npm is told, in characters. */
const maxLineLength = 500

/** So many lines of an error are kept; the first say the reason. */
const maxErrorLines = 50

/** So many lines are told of what went wrong. */
const maxReasonLines = 2

const installFailed = (message: string): PackInstallError => new PackInstallError({ message })

const fileOperation = <A>(problem: string, work: () => Promise<A>): Effect.Effect<A, PackInstallError> =>
  Effect.tryPromise({ try: work, catch: (error) => installFailed(`${problem}: ${thrownMessage(error)}`) })

const npmArguments = (
  folder: string,
  packages: ReadonlyArray<string>,
  { hasNodeModules, hasOwnManifest }: InstallTarget,
  allowScripts: boolean
): ReadonlyArray<string> => [
  "install",
  // What is above the folder has nothing to do with it.
  `--prefix=${folder}`,
  "--workspaces=false",
  "--global=false",
  `--ignore-scripts=${!allowScripts}`,
  "--no-audit",
  "--no-fund",
  "--no-update-notifier",
  "--progress=false",
  "--color=false",
  "--loglevel=http",
  // Leaving them out would take those away that its author works with.
  ...(hasOwnManifest && hasNodeModules ? [] : ["--omit=dev"]),
  // A package.json that is not ours stays as it is, and so does its lock.
  ...(hasOwnManifest
    ? ["--no-save", "--no-package-lock", "--", ...packages]
    : ["--save=true", "--package-lock=true"])
]

/** What npm says beside the reason: where its log is, what the error is called. */
const metadataLine = /^(?:code|errno|syscall|path|dest|type|A complete log)\b/

/** Advice that is none here, after the word that all lines begin with. */
const adviceLine = /^(?:Note that|tarball, folder|This is related to|In most cases|or one of)/

/** The reason in what npm said of its failure. All its lines begin with the same word, which names the error. */
const extractReason = (errors: ReadonlyArray<string>): string => {
  const lines = errors
    .map((line) => line.replace(/^npm (?:error|ERR!)\s*/, ""))
    .filter((line) => line !== "" && !metadataLine.test(line))
  const [word = ""] = lines[0]?.split(" ") ?? []
  const isName = lines.length > 1 && lines.every((line) => line === word || line.startsWith(`${word} `))
  return lines
    .map((line) => (isName ? line.slice(word.length) : line).trim())
    .filter((line) => line !== "" && !adviceLine.test(line))
    .slice(0, maxReasonLines)
    .join("; ")
}

const runNpm = Effect.fnUntraced(function* (
  spawner: ChildProcessSpawner.ChildProcessSpawner["Service"],
  command: string,
  args: ReadonlyArray<string>,
  folder: string,
  onLine: (line: string) => Effect.Effect<void>
) {
  const child = yield* spawner
    .spawn(
      ChildProcess.make(command, args, { cwd: folder, stdin: "ignore", forceKillAfter: shutdownTimeout })
    )
    .pipe(Effect.mapError(() => installFailed(`${command} cannot be started: is it installed?`)))
  const errors: Array<string> = []
  yield* child.all.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.mapError(() => installFailed(`reading the output of ${command} failed`)),
    Stream.runForEach((output) => {
      const line = output.slice(0, maxLineLength).trimEnd()
      if (/^npm (?:error|ERR!)/.test(line) && errors.length < maxErrorLines) errors.push(line)
      return line === "" ? Effect.void : onLine(line.replace(/^npm http /, ""))
    })
  )
  const code = yield* Effect.mapError(child.exitCode, () =>
    installFailed(`${command} was killed by a signal`)
  )
  if (code === 0) return
  return yield* installFailed(extractReason(errors) || `${command} exited with code ${code}`)
}, Effect.scoped)

/** Does what `install` of the port does, with npm. */
const make = ({ allowScripts = false, command = "npm", timeout = "5 minutes" }: NpmOptions) =>
  Effect.map(ChildProcessSpawner.ChildProcessSpawner, (spawner) =>
    PackInstaller.of({
      install: Effect.fnUntraced(function* (folder, packages, onLine) {
        if (packages.length === 0) return
        const isUpToDate = yield* fileOperation("reading the installed packages failed", () =>
          isInstalled(folder, packages)
        )
        if (isUpToDate) return
        const target = yield* fileOperation("writing to the folder of the pack failed", async () => {
          await clearInstalled(folder)
          return prepareManifest(folder, packages)
        })
        const args = npmArguments(folder, packages, target, allowScripts)
        yield* Effect.timeoutOrElse(runNpm(spawner, command, args, folder, onLine), {
          duration: timeout,
          orElse: () => {
            const formattedTimeout = Duration.format(Duration.fromInputUnsafe(timeout))
            return Effect.fail(installFailed(`${command} timed out after ${formattedTimeout}`))
          }
        })
        yield* fileOperation("writing to the folder of the pack failed", () =>
          markInstalled(folder, packages)
        )
      })
    })
  )

/**
 * Installs with the `npm` of this machine, into `node_modules` of the pack's own folder. The first time it writes a
 * `package.json` there, and npm a `package-lock.json`, so that the same versions come next time; a `package.json` that
 * the pack brings itself is left alone, its own dependencies are installed along with the others, and only the others
 * are not locked. What npm starts ends with it, and all of it when the effect is interrupted.
 */
export const layer = (
  options: NpmOptions = {}
): Layer.Layer<PackInstaller, never, ChildProcessSpawner.ChildProcessSpawner> =>
  Layer.effect(PackInstaller, make(options))

/** Installs nothing, and refuses packs whose packages are not there already. */
export const layerWithoutInstall: Layer.Layer<PackInstaller> = Layer.succeed(PackInstaller, {
  install: Effect.fnUntraced(function* (folder, packages) {
    const isPresent = yield* fileOperation("reading the installed packages failed", () =>
      arePresent(folder, packages)
    )
    if (isPresent) return
    return yield* installFailed(
      `missing packages: ${packages.join(", ")}. Installation is disabled: ` +
        `install them in ${folder}, or enable it`
    )
  })
})
