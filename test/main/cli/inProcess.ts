import * as NodeServices from "@effect/platform-node/NodeServices"
import { Console, Context, Effect, Layer, type Scope } from "effect"
import { Command } from "effect/cli"
import * as TerminalLog from "../../../src/adapters/log/TerminalLog.ts"
import { makeMemoryMcpServer, type MemoryTool } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import { Server } from "../../../src/application/server/lifecycle/Server.ts"
import { cliConfigLayer } from "../../../src/main/cli/completion/completionScripts.ts"
import { CommandLine } from "../../../src/main/cli/flags/flagRules.ts"
import { rootCommand } from "../../../src/main/cli/root.ts"
import { expandServerConfig } from "../../../src/main/cli/server/flagsFile.ts"
import { computerLayer } from "../../../src/main/layers/computerLayer.ts"
import { serverLayer } from "../../../src/main/layers/serverLayer.ts"
import { configOf } from "../computers.ts"
import { type CommandOutput, recordOutput } from "../output.ts"
import { portDefaults } from "../../portDefaults.ts"
import { AuditLog } from "../../../src/application/ports/AuditLog.ts"

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
    Effect.provide([NodeServices.layer, cliConfigLayer, TerminalLog.layerTo((lines) => write("stderr", lines))]),
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

/** What `a2c` in this process has printed, and its failure. */
export type Outcome = Effect.Success<ReturnType<typeof a2cInProcess>>

/** Whether a command prints these words on stdout. */
export const prints =
  (words: string) =>
  ({ stdout }: Outcome): boolean =>
    stdout.includes(words)

/** The text of a failure. */
export const messageOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure))

/** Starts a Server in this process, and returns its URL. */
export const serverInProcess = Effect.map(
  Layer.build(serverLayer().pipe(Layer.provide([Authenticator.layerAllowAll, AuditLog.layerNone]))),
  (context) => Context.get(context, Server).url
)

/** Starts the Computer `desk` in this process, with an MCP server in memory that has these tools. */
export const deskInProcess = Effect.fnUntraced(function* (
  { office, url }: { readonly office: string; readonly url: string },
  tools: ReadonlyArray<MemoryTool>,
  {
    servers = {},
    ...options
  }: Omit<Partial<Parameters<typeof computerLayer>[0]>, "sessions"> & { readonly servers?: object } = {}
) {
  const { connect } = yield* makeMemoryMcpServer({ tools })
  const alpha = { type: "stdio", server_parameters: { command: "-" }, default_tool_meta: { auto_apply: true } }
  const config = configOf({ alpha, ...servers })
  const sessions = { alpha: yield* connect }
  yield* Layer.build(
    Layer.fresh(Layer.provide(computerLayer({ url, name: "desk", office, config, sessions, ...options }), portDefaults))
  )
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
