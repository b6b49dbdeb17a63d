import { Console, Effect } from "effect"
import type { Confirm } from "../../application/computer/ComputerSettings.ts"
import { Computer } from "../../application/computer/Computer.ts"
import { approves } from "../../domain/tools/approval.ts"
import { loadConfig } from "../configFile.ts"
import { failed, untilEnded } from "../failure.ts"
import { computerLayer } from "../layers.ts"

/** What the command line says about a Computer. */
export interface ComputerCommand {
  readonly server: string
  readonly office: string
  readonly name: string
  readonly config: ReadonlyArray<string>
  readonly approve: ReadonlyArray<string>
}

const byPattern =
  (patterns: ReadonlyArray<string>): Confirm =>
  ({ server, tool }) =>
    Effect.succeed(approves(patterns, server, tool))

/** Runs a Computer until it is told to stop; says on stdout when it has joined. */
export const runComputer = Effect.fnUntraced(function* ({
  approve,
  config: files,
  name,
  office,
  server
}: ComputerCommand) {
  const config = yield* loadConfig(files)
  const stay = Effect.gen(function* () {
    const { status } = yield* Computer
    yield* Console.log(`joined office ${office} as ${name}`)
    return yield* untilEnded(status)
  })
  return yield* stay.pipe(
    Effect.provide(
      computerLayer({
        url: server,
        office,
        name,
        config,
        patient: true,
        settings: { confirm: approve.length === 0 ? undefined : byPattern(approve) }
      })
    ),
    Effect.mapError(failed)
  )
})
