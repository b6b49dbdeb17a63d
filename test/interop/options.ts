import { flag, makeCommandLine, texts } from "../commandLine.ts"
import { exitCodes } from "../chaos/command.ts"
import { type Peer, peers } from "./peers.ts"

const commandLine = makeCommandLine({
  only: texts("PEER", "test this peer; may be repeated"),
  alone: flag("pair the parts of a peer with each other only: shows its own faults"),
  keep: flag("keep the folders with the logs, and print where they are"),
  list: flag("print the peers")
})

const findPeer = (name: string): Peer => {
  const found = peers.find((peer) => peer.name === name)
  if (found !== undefined) return found
  throw new Error(`Unknown peer ${name}: use one of ${peers.map((peer) => peer.name).join(", ")}`)
}

/** Parses the command line. Throws an error that names the invalid option. */
export const readOptions = (args: ReadonlyArray<string>) => {
  const { only, ...flags } = commandLine.parse(args)
  const chosen = only.map(findPeer)
  return {
    ...flags,
    peers: chosen.length === 0 ? peers : peers.filter((peer) => chosen.includes(peer)),
    /** True for all peers: only then the table of the docs is complete. */
    isComplete: chosen.length === 0 && !flags.alone
  }
}

export const helpText = `Tests this project with published packages of the protocol, over real connections.

npm run interop -- [OPTIONS]

Agents, Computers and Servers of both sides are paired in all mixtures. Each pairing runs all steps. Packages are installed
in node_modules/.cache/interop. Faults of packages are listed in test/interop/knownFaults.ts. The run fails when a step fails
without a known fault, and when a known fault no longer occurs. A run with all peers writes the table in docs/interop.md.

${commandLine.help}

Exit codes
  ${exitCodes.fine}    every step passed, or failed by a known fault
  ${exitCodes.wrong}    a step failed, or a known fault no longer occurs
  ${exitCodes.usage}    the command line is invalid
  ${exitCodes.notJudged}    Python, Cargo, Chromium or a registry is missing, or the run took too long
  130  ended by a signal

Needs Python 3.11 or later (or PYTHON), Cargo (or CARGO), the registries of both, and Chromium (or CHROMIUM).
`
