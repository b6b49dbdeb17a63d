import { access, constants, stat } from "node:fs/promises"
import { delimiter, isAbsolute, join, resolve } from "node:path"
import { Effect, Exit } from "effect"
import { ChildProcess } from "effect/process"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"
import { systemErrorCode } from "../../../../domain/errorMessage.ts"
import { explainInstaller, isInstaller, tellingLine } from "../../../../domain/mcpServers/installerProblem.ts"
import { missingProgramCode, spawnGuarded } from "../../../process/spawnGuarded.ts"
import { sessionError } from "../../../../application/ports/McpSession.ts"
import { inheritedVariables } from "./inheritedVariables.ts"

export const shutdownTimeouts = { afterInputEnd: "300 millis", afterTerminate: "2 seconds" } as const

/** npm would wait for minutes in silence before it tells that a registry cannot be reached. The Computer starts it again. */
const retries = "npm_config_fetch_retries"

const makeCommand = ({ args, command, cwd, env, inherit }: StdioParameters, environment: NodeJS.ProcessEnv) => {
  const variables = { ...inheritedVariables(environment, inherit), ...env }
  const hasRetries = Object.keys(variables).some((name) => name.toLowerCase() === retries)
  return ChildProcess.make(command, args, {
    ...(cwd !== null && cwd !== "" && { cwd }),
    env: isInstaller(command) && !hasRetries ? { ...variables, [retries]: "0" } : variables,
    forceKillAfter: shutdownTimeouts.afterTerminate
  })
}

/** The exit code of the shell for a program that exists and cannot be started. */
const notExecutableCode = 126

const errorCodeOf = (attempt: Promise<unknown>): Promise<string | undefined> =>
  attempt.then(
    () => undefined,
    (error: unknown) => systemErrorCode(error) ?? "unknown error"
  )

/** The reason why a process cannot start in a folder. */
const folderProblem = (cwd: string): Effect.Effect<string | undefined> =>
  Effect.promise(async () => {
    const info = await stat(cwd).catch((error: unknown) => systemErrorCode(error) ?? "unknown error")
    const folder = `the folder cwd ${JSON.stringify(cwd)}`
    if (typeof info === "object" && !info.isDirectory()) return `${folder} is a file: correct cwd in the configuration`
    const code = typeof info === "string" ? info : await errorCodeOf(access(cwd, constants.X_OK))
    switch (code) {
      case undefined:
        return undefined
      case "ENOENT":
        return cwd.startsWith("~")
          ? `${folder} does not exist: only shells replace ~, so use \${userHome} or the whole path`
          : `${folder} does not exist: create it, or correct cwd in the configuration`
      case "ENOTDIR":
        return `${folder} is below a file: correct cwd in the configuration`
      case "EACCES":
      case "EPERM":
        return `${folder} cannot be entered by the user of this Computer: permission denied`
      default:
        return `${folder} cannot be used: ${code}`
    }
  })

/** The files that a shell tries for a command. */
const candidatesOf = (command: string, cwd: string, path: string): ReadonlyArray<string> =>
  isAbsolute(command) || command.includes("/")
    ? [resolve(cwd, command)]
    : path.split(delimiter).map((folder) => join(resolve(cwd, folder), command))

/** The reason why the command of a server cannot start here, `undefined` when it can. */
export const findCommandProblem = ({ command, cwd, env }: Pick<StdioParameters, "command" | "cwd" | "env">) =>
  Effect.promise(async () => {
    const path = env?.["PATH"] ?? process.env["PATH"] ?? ""
    const found: Array<string> = []
    for (const file of candidatesOf(command, cwd || process.cwd(), path)) {
      const info = await stat(file).catch(() => undefined)
      if (info === undefined) continue
      if (info.isDirectory()) found.push("is a folder")
      else if ((await errorCodeOf(access(file, constants.X_OK))) === undefined) return undefined
      else found.push("is not executable: make it executable with chmod +x, or start it with its interpreter")
    }
    return `command "${command}" ${found[0] ?? "not found"}`
  })

/** The exit codes of the shell for a command that it cannot start. A program that did start may exit with the same ones. */
const unstartableCodes: ReadonlyArray<number> = [missingProgramCode, notExecutableCode]

/** Starts the process of a server, or fails with the reason for its owner. */
export const startProcess = Effect.fnUntraced(function* (parameters: StdioParameters) {
  const command = makeCommand(parameters, process.env)
  const { cwd } = command.options
  const problem = cwd === undefined ? undefined : yield* folderProblem(cwd)
  if (problem !== undefined) return yield* sessionError("unavailable", problem)
  return yield* spawnGuarded(command).pipe(
    Effect.mapError(({ message }) => sessionError("unavailable", message)),
    // Node throws for some system errors, such as an argument list that is too long.
    Effect.catchDefect((defect) => {
      const code = systemErrorCode(defect)
      return Effect.fail(sessionError("unavailable", `process failed to start${code === undefined ? "" : `: ${code}`}`))
    })
  )
})

/** The error of a session whose process has exited, with the latest lines of its stderr. */
export const exitError = Effect.fnUntraced(function* (
  exit: Exit.Exit<number, unknown>,
  parameters: StdioParameters,
  lines: ReadonlyArray<string>
) {
  const lastLine = tellingLine(lines)
  if (Exit.isFailure(exit)) return sessionError("closed", "the process was killed", lastLine)
  const problem = explainInstaller(parameters.command, lines)
  if (problem !== undefined) return sessionError("closed", problem, lastLine)
  const reason = unstartableCodes.includes(exit.value) ? yield* findCommandProblem(parameters) : undefined
  return reason === undefined
    ? sessionError("closed", `the process exited with code ${exit.value}`, lastLine)
    : sessionError("closed", reason)
})
