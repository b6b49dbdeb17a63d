/**
 * Measures what the office page costs the Server. bench/README.md explains method and results.
 * Usage: node bench/page.ts [--help]
 */
import { parseArgs } from "node:util"
import { tuneGcForRelay } from "../src/adapters/process/gcTuning.ts"
import { compareWith } from "./page/against.ts"
import { measureCost } from "./page/cost.ts"
import { measureScreen } from "./page/screen.ts"
import { pin, processors } from "./relay/pinning.ts"

const helpText = `Measures what the office page costs the Server.

npm run bench:page -- [OPTIONS]

  --rounds N        phases with an open page (250), or starts with --against (12), or events with --screen (100)
  --quick           few and short phases: a smoke test, not a measurement
  --profile FILE    write a CPU profile of the Server with an open page instead
  --against FOLDER  compare the Server without an open page with that of another checkout instead
  --screen          measure the time from an event to the screen of Chromium instead; needs npm run build:page
  --help            this text
`

const { values } = parseArgs({
  options: {
    rounds: { type: "string" },
    quick: { type: "boolean", default: false },
    profile: { type: "string" },
    against: { type: "string" },
    screen: { type: "boolean", default: false },
    help: { type: "boolean", default: false }
  }
})

const note = (progress: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${progress}`)
}

const roundsOf = (full: number): number => Number(values.rounds ?? (values.quick ? 2 : full))

const measure = (): Promise<string> => {
  const { against, profile, quick, screen } = values
  if (against !== undefined) return compareWith(against, { starts: roundsOf(12), quick, note })
  if (screen) return measureScreen({ events: roundsOf(100), note })
  return measureCost({ rounds: roundsOf(250), quick, note, ...(profile !== undefined && { profile }) })
}

if (values.help) process.stdout.write(helpText)
else {
  tuneGcForRelay()
  // Chromium would share the processor of the load.
  const notPinned = values.screen ? undefined : pin(process.pid, processors.load)
  if (notPinned !== undefined) process.stderr.write(`Server and load generator share processors: ${notPinned}.\n`)
  process.stdout.write(await measure())
}
process.exit(0)
