import { createWriteStream, mkdirSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect, Exit, Logger, References, Result } from "effect"
import { lineNames } from "../../src/domain/wire/lines.ts"
import { messageOf } from "../chaos/command.ts"
import { type Finding, formatVerdict, judge, type Observation } from "./judge.ts"
import { PartError } from "./members.ts"
import { areOccasional, faultsOf } from "./knownFaults.ts"
import { makeOurFactory } from "./ours.ts"
import { formatPairing, type Pairing, type Peer } from "./peers.ts"
import { prerequisites, type Step, type StepName, steps } from "./steps.ts"
import { type Launch, makeTheirFactory } from "./theirs.ts"
import { makeWorld, type World } from "./world.ts"
import type { Role } from "./peers.ts"

/** An installed peer. */
export interface InstalledPeer {
  readonly peer: Peer
  readonly launch: (role: Role) => Launch
  readonly canCancel: boolean
}

interface PairingOptions {
  readonly installed: InstalledPeer
  readonly pairing: Pairing
  /** A new folder for this pairing. */
  readonly folder: string
  readonly note: (line: string) => void
}

/** Seconds of a step that states no timeout. A part that does not reply must not stop the run. */
const defaultStepTimeout = 20

/** Seconds for the start of all parts. */
const startTimeout = 60

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim().slice(0, 500)

const timedOut = (seconds: number) => () => Effect.fail(new PartError({ message: `nothing happened for ${seconds} s` }))

const runStep = Effect.fnUntraced(function* (world: World, { isOffered, run, timeout = defaultStepTimeout }: Step) {
  if (isOffered?.(world) === false) return { _tag: "NotOffered" } as const
  const bounded = Effect.timeoutOrElse(run(world), { duration: `${timeout} seconds`, orElse: timedOut(timeout) })
  const exit = yield* Effect.exit(bounded)
  return {
    _tag: "Ran",
    result: Exit.match(exit, {
      onFailure: (cause) => Result.fail(oneLine(messageOf(cause) || Cause.pretty(cause))),
      onSuccess: () => Result.succeed(undefined)
    })
  } as const
})

/** Runs all steps on a pairing. A pairing that does not start fails in its first step. */
export const runPairing = Effect.fnUntraced(function* ({
  folder,
  installed,
  note,
  pairing
}: PairingOptions): Effect.fn.Return<ReadonlyArray<Finding>> {
  const { canCancel, launch, peer } = installed
  mkdirSync(folder, { recursive: true })
  const log = createWriteStream(join(folder, "log.txt"))
  const onLog = (line: string) => {
    // The last lines of an ended process may arrive late.
    if (!log.writableEnded) log.write(`${new Date().toISOString()} ${line}\n`)
  }

  const ours = {
    line: peer.line,
    findLine: pairing.server === "theirs",
    path: pairing.server === "theirs" ? "/socket.io" : ""
  }
  const other = lineNames.find((name) => name !== peer.line) ?? peer.line
  const factories = {
    ours: makeOurFactory(ours),
    theirs: makeTheirFactory({ launch, canCancel, folder: join(folder, "home"), onLog })
  }
  const otherLine = {
    agent: makeOurFactory({ ...ours, line: other, findLine: false }),
    server: makeOurFactory({ ...ours, lines: [other] })
  }

  const findings: Array<Finding> = []
  const add = (step: StepName, observation: Observation, again?: Observation) => {
    const verdict = judge(peer, pairing, step, observation, again)
    findings.push({ peer, pairing, step, verdict })
    onLog(`STEP ${step}: ${formatVerdict(verdict)}`)
    note(`${peer.name}, ${formatPairing(pairing)}: ${step}: ${formatVerdict(verdict)}`)
    return verdict
  }

  const all = Effect.gen(function* () {
    const world = yield* Effect.timeoutOrElse(
      makeWorld({ peer, pairing, folder, factoryOf: (side) => factories[side], otherLine }),
      { duration: `${startTimeout} seconds`, orElse: timedOut(startTimeout) }
    )
    let blockedBy: StepName | undefined
    for (const [name, step] of steps) {
      onLog(`STEP ${name}`)
      const observation: Observation =
        blockedBy === undefined ? yield* Effect.scoped(runStep(world, step)) : { _tag: "Blocked", by: blockedBy }
      const isRepeated =
        observation._tag === "Ran" &&
        Result.isFailure(observation.result) &&
        areOccasional(faultsOf(name, pairing, peer))
      const { _tag } = add(name, observation, isRepeated ? yield* Effect.scoped(runStep(world, step)) : undefined)
      if (prerequisites.has(name) && _tag !== "Passed") blockedBy = name
    }
  }).pipe(
    Effect.scoped,
    Effect.provide(
      Logger.layer([Logger.make(({ logLevel, message }) => onLog(`ours: ${logLevel} ${JSON.stringify(message)}`))])
    ),
    Effect.provideService(References.MinimumLogLevel, "Debug")
  )

  yield* Effect.catchCause(all, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.sync(() => {
          const [[first]] = steps as readonly [(typeof steps)[number]]
          const reached = findings.at(-1)?.step ?? first
          add(reached, { _tag: "Ran", result: Result.fail(`the pairing broke: ${oneLine(messageOf(cause))}`) })
        })
  )
  yield* Effect.sync(() => log.end())
  return findings
})
