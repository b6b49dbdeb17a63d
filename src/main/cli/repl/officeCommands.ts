import { Clock, Effect, Result } from "effect"
import { Computer } from "../../../application/computer/Computer.ts"
import { stateNameOf } from "../../../application/computer/servers/ServersSnapshot.ts"
import { formatColumns } from "../output/format.ts"
import { failCommand, requireSuccess, toCommandFailed } from "../../CommandFailed.ts"
import type { ReplCommand } from "./ReplCommand.ts"
import { officeStatusLine, formatServerOffer, stateReason } from "./serverCommands.ts"

/** Parses `--size N` and `--window URI`, in any order. */
const parseDesktopOptions = (words: ReadonlyArray<string>) => {
  const request: { size?: number; window?: string } = {}
  for (let at = 0; at < words.length; at += 2) {
    const [option, value] = words.slice(at, at + 2)
    if (option !== "--size" && option !== "--window") {
      return Result.fail(`unknown option '${option}': expected --size N or --window URI`)
    }
    if (value === undefined) return Result.fail(`${option} expects a value`)
    if (option === "--window") request.window = value
    else if (/^\d+$/.test(value)) request.size = Number(value)
    else return Result.fail(`--size expects a whole number, not '${value}'`)
  }
  return Result.succeed(request)
}

export const officeCommands: ReadonlyArray<ReplCommand> = [
  {
    name: "status",
    help: "show the office, the state of the servers, and the hidden tools",
    run: Effect.fnUntraced(function* () {
      const computer = yield* Computer
      const states = yield* computer.servers
      const catalogue = yield* computer.catalogue
      const now = yield* Clock.currentTimeMillis
      const servers = [...states].map(([name, state]) => [
        name,
        stateNameOf(state),
        formatServerOffer(name, state, catalogue),
        stateReason(state, now)
      ])
      const hidden = catalogue.hidden.map(({ name, originalName, reason, server }) => [
        server,
        originalName,
        originalName === name ? reason : `${reason} as ${name}`
      ])
      return [
        yield* officeStatusLine,
        formatColumns(servers, "no servers are configured"),
        ...(hidden.length === 0 ? [] : ["hidden tools:", formatColumns(hidden)])
      ].join("\n")
    })
  },
  {
    name: "desktop",
    parameters: "[--size N] [--window URI]",
    help: "show the windows as the office sees them",
    run: Effect.fnUntraced(function* (words) {
      const request = yield* requireSuccess(parseDesktopOptions(words))
      const entries = yield* Computer.use(({ desktop: show }) => show(request))
      return entries.length === 0 ? "no windows" : entries.join("\n\n")
    }),
    complete: (words) =>
      Effect.succeed(words.length % 2 === 0 ? ["--size", "--window"].filter((one) => !words.includes(one)) : [])
  },
  {
    name: "history",
    help: "list the latest calls that reached a server, oldest first",
    run: Effect.fnUntraced(function* () {
      const records = yield* Computer.use(({ history: calls }) => calls)
      return formatColumns(
        records.map(({ outcome, server, timestamp, tool }) => [
          new Date(timestamp).toISOString(),
          server,
          tool,
          outcome.replace("_", " ")
        ]),
        "no calls yet"
      )
    })
  },
  {
    name: "join",
    parameters: "OFFICE",
    help: "join an office",
    run: Effect.fnUntraced(function* ([office = ""]) {
      yield* Effect.mapError(
        Computer.use((computer) => computer.join({ office })),
        toCommandFailed
      )
      return `joined office ${office}`
    })
  },
  {
    name: "leave",
    help: "leave the office; the servers keep running",
    run: Effect.fnUntraced(function* () {
      const computer = yield* Computer
      const office = yield* computer.office
      if (office === undefined) return yield* failCommand("The Computer is in no office")
      yield* computer.leave
      return `left office ${office}`
    })
  }
]
