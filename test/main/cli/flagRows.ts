import { writeFileSync } from "node:fs"
import { join } from "node:path"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { ConfigProvider, Effect, type Scope } from "effect"
import { Command } from "effect/cli"

/**
 * A flag of a command on its command line, the value to which it leads without and with it, and how to see this. A flag that is
 * lost on its way fails its test.
 */
export type FlagRow<R = Scope.Scope> = readonly [
  args: ReadonlyArray<string>,
  outcomes: readonly [without: unknown, withIt: unknown],
  outcome: (args: ReadonlyArray<string>) => Effect.Effect<unknown, unknown, R>
]

/** A row for each flag of a command: a new flag without a row is an error of the compiler. */
export type FlagRows<Options, R = Scope.Scope> = { readonly [Name in keyof Options]-?: FlagRow<R> }

/** A test of each flag: its outcome differs with and without it. */
export const testFlags = <Options>(rows: FlagRows<Options>) =>
  it.live.each(Object.entries(rows) as unknown as ReadonlyArray<readonly [string, FlagRow]>)(
    "leads to what `%s` says",
    ([, [args, [without, withIt], outcome]]) =>
      Effect.gen(function* () {
        assert.notDeepEqual(without, withIt)
        const outcomes = [yield* Effect.scoped(outcome([])), yield* Effect.scoped(outcome(args))]
        assert.deepStrictEqual(outcomes, [without, withIt])
      })
  )

/** Makes a function that writes a file into this folder and returns its path. */
export const fileWriter =
  (folder: string) =>
  (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, text)
    return path
  }

/** Makes a function that parses a command line by the flags of a command, without variables of the environment. */
export const parserOf =
  <const C extends Command.Command.Config>(flags: C) =>
  (args: ReadonlyArray<string>): Effect.Effect<Command.Command.Config.Infer<C>, unknown> =>
    Effect.gen(function* () {
      let parsed: Command.Command.Config.Infer<C> | undefined
      const command = Command.make("command", flags, (options) => Effect.sync(() => void (parsed = options)))
      yield* Command.runWith(command, { version: "0" })(args)
      return parsed ?? (yield* Effect.die("nothing was parsed"))
    }).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: {} })),
      Effect.provide(NodeServices.layer)
    )
