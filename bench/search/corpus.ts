import { readFileSync } from "node:fs"
import { alternate, toOfficeView, toSearchSet, type SourceTool } from "./searchSet.ts"

/** The tools of one public MCP server, as it listed them: `tools.json` has one in each line. */
interface Source {
  /** Its name in the configuration of a host. */
  readonly server: string
  readonly package: string
  readonly version: string
  readonly license: string
  readonly tools: ReadonlyArray<SourceTool>
}

interface Task {
  readonly query: string
  /** The acceptable tools, `SERVER/TOOL`. */
  readonly tools: ReadonlyArray<string>
}

const readJson = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"))

export const sources = readJson("tools.json") as ReadonlyArray<Source>
const tasks = readJson("queries.json") as ReadonlyArray<Task>

const computers = ["desk", "lab", "ops"]

const view = toOfficeView(
  new Map(
    computers.map((computer, at) => [
      computer,
      sources
        .filter((_, index) => index % computers.length === at)
        .flatMap(({ server, tools }) => tools.map((tool) => ({ ...tool, server })))
    ])
  )
)

/** The set of this repository. */
export const ownSet = toSearchSet(`${sources.length} MCP servers`, view, [
  ["tasks", alternate(tasks.map(({ query, tools }) => ({ query, needs: [tools] })))]
])

/** Eleven tools that a host might pin. */
export const pins = [
  "github__get_*",
  "slack__slack_post_message",
  "filesystem__read_text_file",
  "google-calendar__list-events",
  "mail__send_email"
]
