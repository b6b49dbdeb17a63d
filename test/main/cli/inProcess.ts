import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Effect, type Scope } from "effect"
import { Command } from "effect/cli"
import * as TerminalLog from "../../../src/adapters/log/TerminalLog.ts"
import { CommandLine } from "../../../src/main/cli/flags/flagRules.ts"
import { rootCommand } from "../../../src/main/cli/root.ts"
import { expandServerConfig } from "../../../src/main/cli/server/flagsFile.ts"
import { type CommandOutput, recordOutput } from "../output.ts"

/** Runs `a2c` in this process: much faster than a child, but without the output of a failure. Gives its failure. */
const run = (args: ReadonlyArray<string>, write: ReturnType<typeof recordOutput>["write"]) => {
  const console = {
    ...globalThis.console,
    log: (text: string) => write("stdout", `${text}\n`),
    error: (text: string) => write("stderr", `${text}\n`)
  }
  return expandServerConfig(args).pipe(
    Effect.flatMap((words) =>
      Effect.provideService(Command.runWith(rootCommand, { version: "0" })(words), CommandLine, words)
    ),
    Effect.provideService(Console.Console, console),
    Effect.provide([NodeServices.layer, TerminalLog.layerTo((lines) => write("stderr", lines))]),
    Effect.match({ onSuccess: () => undefined, onFailure: (error: unknown) => error })
  )
}

/** Runs `a2c` to its end. */
export const a2cInProcess = Effect.fnUntraced(function* (
  ...args: ReadonlyArray<string>
): Effect.fn.Return<
  { readonly stdout: string; readonly stderr: string; readonly failure: unknown },
  never,
  Scope.Scope
> {
  const { output, write } = recordOutput<unknown>()
  const failure = yield* run(args, write)
  return { stdout: output.stdout(), stderr: output.stderr(), failure }
})

/** Starts `a2c`, and interrupts it when the scope closes. It ends with its failure or `undefined`. */
export const a2cRunning = Effect.fnUntraced(function* (
  ...args: ReadonlyArray<string>
): Effect.fn.Return<CommandOutput<unknown>, never, Scope.Scope> {
  const { end, output, write } = recordOutput<unknown>()
  const running = Effect.onExit(run(args, write), (exit) => Effect.sync(() => end(exit)))
  yield* Effect.forkScoped(running, { startImmediately: true })
  return output
})
