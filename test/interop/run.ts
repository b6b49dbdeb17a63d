/**
 * Tests this project with published packages. Usage: node test/interop/run.ts [--help]
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { exitCodes, reporter, runCommand, within } from "../chaos/command.ts"
import { optionsOrExit } from "../commandLine.ts"
import { chromiumBrowser } from "../programs/chromiumBrowser.ts"
import { install as installProgram, locate } from "../programs/Program.ts"
import { cacheFolder, install } from "./install.ts"
import { type Finding, formatVerdict, isWrong } from "./judge.ts"
import { helpText, readOptions } from "./options.ts"
import { formatPairing, mixedPairings, type Peer, peerAlone, peers } from "./peers.ts"
import { type InstalledPeer, runPairing } from "./runPairing.ts"
import { formatTable, replaceTable } from "./table.ts"

/** Seconds of one pairing, over all steps and their timeouts. */
const maxPairingSeconds = 10 * 60

/** Seconds to install all peers. */
const maxInstallSeconds = 60 * 60

const docs = join(import.meta.dirname, "../../docs/interop.md")

const print = (line: string) => process.stdout.write(`${line}\n`)

const installAll = Effect.fnUntraced(function* (wanted: ReadonlyArray<Peer>, note: (line: string) => void) {
  const installed: Array<InstalledPeer> = []
  const missing: Array<string> = []
  if (locate(chromiumBrowser) === undefined) {
    note(chromiumBrowser.installation)
    const result = yield* Effect.result(Effect.tryPromise(() => installProgram(chromiumBrowser)))
    if (Result.isFailure(result)) missing.push(`Chromium cannot be installed: ${chromiumBrowser.advice}`)
  }
  for (const peer of wanted) {
    note(`installing ${peer.name}`)
    const result = yield* Effect.result(install(peer))
    if (Result.isSuccess(result)) installed.push(result.success)
    else missing.push(`${peer.name} cannot be installed: ${result.failure.message}`)
  }
  return { installed, missing }
})

const formatFinding = ({ pairing, peer, step, verdict }: Finding): string =>
  `${peer.name}, ${formatPairing(pairing)}: ${step}: ${formatVerdict(verdict)}`

const program = Effect.gen(function* () {
  const { alone, isComplete, keep, list, peers: wanted } = optionsOrExit(readOptions, helpText)
  if (list) return peers.forEach(({ line, name }) => print(`${name}  protocol ${line}`))
  const note = reporter()
  const { installed, missing } = yield* within(maxInstallSeconds, installAll(wanted, note))

  const runs = join(cacheFolder, "runs", String(process.pid))
  mkdirSync(runs, { recursive: true })
  const findings: Array<Finding> = []
  for (const one of installed) {
    for (const [index, pairing] of (alone ? [peerAlone] : mixedPairings).entries()) {
      const folder = join(runs, `${one.peer.name}-${index + 1}`)
      const found = yield* within(maxPairingSeconds, runPairing({ installed: one, pairing, folder, note }))
      findings.push(...found)
    }
  }
  if (keep) print(`logs: ${runs}`)
  else rmSync(runs, { recursive: true, force: true })

  const wrong = findings.filter(({ verdict }) => isWrong(verdict))
  const known = findings.filter(({ verdict }) => verdict._tag === "KnownFault")
  print(findings.length === 0 ? "" : formatTable(findings))
  wrong.forEach((finding) => print(formatFinding(finding)))
  missing.forEach(print)
  print(
    `${findings.length} steps: ${wrong.length} wrong, ${known.length} with a known fault, ${missing.length} programs missing`
  )
  if (isComplete && missing.length === 0)
    writeFileSync(docs, replaceTable(readFileSync(docs, "utf8"), formatTable(findings)))
  process.exitCode = wrong.length > 0 ? exitCodes.wrong : missing.length > 0 ? exitCodes.notJudged : exitCodes.fine
})

runCommand(program)
