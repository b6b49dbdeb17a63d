import type { Finding, Verdict } from "./judge.ts"
import type { KnownFault } from "./knownFaults.ts"
import type { Peer } from "./peers.ts"
import { steps } from "./steps.ts"

const languages = { python: "Python", rust: "Rust" } as const

const titleOf = ({ language, version }: Peer): string => `${languages[language]} ${version}`

const faultsIn = (verdicts: ReadonlyArray<Verdict>): ReadonlyArray<KnownFault> =>
  verdicts.flatMap((verdict) => (verdict._tag === "KnownFault" ? verdict.faults : []))

/** Formats the result of a step over all pairings of a peer; faults are footnotes by their number. */
const formatCell = (verdicts: ReadonlyArray<Verdict>, numberOf: (fault: KnownFault) => number): string => {
  if (verdicts.some(({ _tag }) => _tag === "Failed" || _tag === "Blocked")) return "no"
  const numbers = [...new Set(faultsIn(verdicts).map(numberOf))].toSorted((one, other) => one - other)
  if (numbers.length > 0) return `fault ${numbers.join(", ")}`
  return verdicts.some(({ _tag }) => _tag === "Passed" || _tag === "Fixed") ? "yes" : "–"
}

/** Formats the findings as tables in Markdown: the steps by peer, and the faults. */
export const formatTable = (findings: ReadonlyArray<Finding>): string => {
  const peers = [...new Set(findings.map(({ peer }) => peer))]
  const faults = [...new Set(faultsIn(findings.map(({ verdict }) => verdict)))]
  const numberOf = (fault: KnownFault) => faults.indexOf(fault) + 1
  const rows = steps.map(([name, { title }]) => {
    const cells = peers.map((peer) => {
      const those = findings.filter((finding) => finding.peer === peer && finding.step === name)
      return formatCell(
        those.map(({ verdict }) => verdict),
        numberOf
      )
    })
    return `| ${[title, ...cells].join(" | ")} |`
  })
  const faultRows = faults.map(
    (fault) =>
      `| ${numberOf(fault)} | ${languages[fault.language]} ${fault.versions.join(" to ")} | ${fault.role} | ${fault.fault} |`
  )
  return [
    `| step | ${peers.map(titleOf).join(" | ")} |`,
    `|---|${peers.map(() => "---|").join("")}`,
    ...rows,
    ...(faultRows.length === 0
      ? []
      : ["", "| fault | package | part | what it does |", "|---|---|---|---|", ...faultRows])
  ].join("\n")
}

export const tableMarkers = { start: "<!-- interop:start -->", end: "<!-- interop:end -->" } as const

/** Replaces the text between the markers. */
export const replaceTable = (document: string, table: string): string => {
  const start = document.indexOf(tableMarkers.start)
  const end = document.indexOf(tableMarkers.end)
  if (start < 0 || end < start) throw new Error(`the document lacks ${tableMarkers.start} and ${tableMarkers.end}`)
  return `${document.slice(0, start + tableMarkers.start.length)}\n${table}\n${document.slice(end)}`
}
