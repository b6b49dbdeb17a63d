import { parseArgs } from "node:util"
import { exitCodes } from "../chaos/command.ts"
import { type Peer, peers } from "./peers.ts"

/** Options of a run. */
interface Options {
  readonly peers: ReadonlyArray<Peer>
  /** True for all peers: only then the table of the docs is complete. */
  readonly isComplete: boolean
  readonly alone: boolean
  readonly keep: boolean
  readonly list: boolean
  readonly help: boolean
}

const findPeer = (name: string): Peer => {
  const found = peers.find((peer) => peer.name === name)
  if (found !== undefined) return found
  throw new Error(`Unknown peer ${name}: use one of ${peers.map((peer) => peer.name).join(", ")}`)
}

/** Parses the command line. Throws an error that names the invalid option. */
export const readOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true, default: [] },
      alone: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const { only, ...flags } = values
  const chosen = only.map(findPeer)
  return {
    ...flags,
    peers: chosen.length === 0 ? peers : peers.filter((peer) => chosen.includes(peer)),
    isComplete: chosen.length === 0 && !flags.alone
  }
}

export const helpText = `Tests this project with published packages of the protocol, over real connections.

npm run interop -- [OPTIONS]

Agents, Computers and Servers of both sides are paired in all mixtures. Each pairing runs all steps. Packages are installed
in node_modules/.cache/interop. Faults of packages are listed in test/interop/knownFaults.ts. The run fails when a step fails
without a known fault, and when a known fault no longer occurs. A run with all peers writes the table in docs/interop.md.

  --only PEER   test this peer; may be repeated
  --alone       pair the parts of a peer with each other only: shows its own faults
  --keep        keep the folders with the logs, and print where they are
  --list        print the peers
  --help        print this text

Exit codes
  ${exitCodes.fine}    every step passed, or failed by a known fault
  ${exitCodes.wrong}    a step failed, or a known fault no longer occurs
  ${exitCodes.usage}    the command line is invalid
  ${exitCodes.notJudged}    Python, Cargo or a registry is missing, or the run took too long
  130  ended by a signal

Needs Python 3.11 or later (or PYTHON), Cargo (or CARGO), and the registries of both.
`
