import { readFileSync } from "node:fs"
import { type Outcome, type Outcomes, outcomes, revisions, type Scenarios } from "../../test/mcpConformance/outcomes.ts"
import { code, codes, page, plain, table } from "./markdown.ts"

const sides = { server: "published office", client: "MCP client of a Computer" } as const

const isPassed = (outcome: Outcome): boolean => outcome === "passes" || outcome.fails === undefined

const share = ({ required }: Outcomes): string => {
  const all = Object.values(required)
  return `${all.filter(isPassed).length} of ${all.length}`
}

/** The heading of the section of docs/mcp.md that has the summary. */
const heading = "## Conformance"

/** What passes of what each revision requires, by side. */
const summary = (): string =>
  table(
    ["required scenarios that pass", ...Object.values(sides)],
    revisions.map((revision) => [revision, share(outcomes.server[revision]), share(outcomes.client[revision])])
  )

/** The text of docs/mcp.md with the current summary. */
export const withSummary = (text: string): string => {
  const start = text.indexOf(`\n${heading}\n`)
  const from = text.indexOf("\n|", start) + 1
  const to = text.indexOf("\n\n", from)
  if (start === -1 || from === 0 || to === -1) throw new Error(`docs/mcp.md has no table below ${heading}`)
  return text.slice(0, from) + summary() + text.slice(to)
}

export const mcpGuide = "docs/mcp.md"

export const readMcpGuide = (): string => readFileSync(mcpGuide, "utf8")

const describeOutcome = (outcome: Outcome): string => {
  if (outcome === "passes") return outcome
  const { fails = [], reason, warns = [] } = outcome
  const parts = [fails.length > 0 && `fails ${codes(fails)}`, warns.length > 0 && `warns of ${codes(warns)}`]
  return `${parts.filter((part) => part !== false).join(", ")}: ${plain(reason)}`
}

const rowsOf = (required: string, scenarios: Scenarios) =>
  Object.entries(scenarios).map(([scenario, outcome]) => [code(scenario), required, describeOutcome(outcome)])

export const mcpConformancePage = (): string =>
  page(
    "MCP conformance",
    "Every scenario of [MCP's conformance suite](https://github.com/modelcontextprotocol/conformance) for a published office and for the MCP client of a Computer. " +
      "A scenario that is not required is run, but not scored. [mcp.md](../mcp.md#conformance) says how they run.",
    summary(),
    ...revisions.flatMap((revision) =>
      (["server", "client"] as const).flatMap((side) => {
        const { notRequired, required } = outcomes[side][revision]
        const rows = [...rowsOf("yes", required), ...rowsOf("no", notRequired)]
        return [`## ${revision}: ${sides[side]}`, table(["scenario", "required", "outcome"], rows)]
      })
    )
  )
