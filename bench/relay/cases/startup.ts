import { Effect } from "effect"
import { commandOffice, makeCommand } from "../command.ts"
import { a2c } from "../kinds.ts"
import { type Case, type Setting, summaryOf, valueAtMost } from "./Case.ts"

/** Rounds at most: times differ less than those of calls. */
const maxRounds = 9

const measure = Effect.fnUntraced(function* ({ note, rounds }: Setting) {
  note("starting the office")
  const command = yield* makeCommand
  const { address } = yield* command.startServer()
  yield* command.startComputer(address)
  const printVersion = command.run("--version")
  const place = ["--server", `http://${address}`, "--office", commandOffice]
  const callTool = command.run("agent", ...place, "call", "search_nodes", "query=nothing")
  // The first runs write their compiled code to the cache.
  yield* printVersion
  yield* callTool
  const versions: Array<number> = []
  const calls: Array<number> = []
  const all = Math.min(maxRounds, rounds)
  for (let round = 1; round <= all; round++) {
    note(`round ${round} of ${all}`)
    versions.push(yield* printVersion)
    calls.push(yield* callTool)
  }
  return { versions, calls }
}, Effect.scoped)

/** Time of short commands. */
export const startupCase: Case = {
  name: "startup",
  about: "time of `a2c --version` and of `a2c agent call`, from start to exit",
  long: true,
  run: async (setting) => {
    const { calls, versions } = await Effect.runPromise(measure(setting))
    return [
      { case: "startup", measure: "version", unit: "ms", summary: summaryOf(a2c.name, versions) },
      {
        case: "startup",
        measure: "agent call",
        unit: "ms",
        summary: summaryOf(a2c.name, calls),
        target: valueAtMost(500)
      }
    ]
  }
}
