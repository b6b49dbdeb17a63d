import { readFileSync } from "node:fs"
import type { OfficeView } from "../../src/application/agent/OfficeView.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import type { Tool } from "../../src/domain/model/Tool.ts"

/** The tools of one public MCP server, as it listed them: `tools.json` has one in each line. */
interface Source {
  /** Its name in the configuration of a host. */
  readonly server: string
  readonly package: string
  readonly version: string
  readonly license: string
  readonly tools: ReadonlyArray<{ readonly name: string; readonly description: string; readonly inputSchema: JsonObject }>
}

interface Query {
  readonly query: string
  /** The acceptable tools, `SERVER/TOOL`. */
  readonly tools: ReadonlyArray<string>
}

const readJson = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"))

export const sources = readJson("tools.json") as ReadonlyArray<Source>
export const queries = readJson("queries.json") as ReadonlyArray<Query>

/** Queries alternate between the part that changes of the index may use and the part that only checks them. */
export const parts = {
  tuning: queries.filter((_, index) => index % 2 === 0),
  "held out": queries.filter((_, index) => index % 2 === 1),
  all: queries
}

const computers = ["desk", "lab", "ops"]

const toTool = (server: string, { description, inputSchema, name }: Source["tools"][number]): Tool => ({
  name: `${server}__${name}`,
  bundleId: server,
  description,
  paramsSchema: inputSchema,
  returnSchema: null,
  meta: {}
})

/** An office of three Computers with all servers, named by bundle ids as from line 0.3 on. */
export const view: OfficeView = {
  members: computers.map((name) => ({ name, role: "computer" })),
  computers: new Map(
    computers.map((computer, at) => [
      computer,
      {
        tools: sources
          .filter((_, index) => index % computers.length === at)
          .flatMap(({ server, tools }) => tools.map((tool) => toTool(server, tool))),
        startingServers: [],
        desktop: [],
        documents: [],
        skills: []
      }
    ])
  )
}

type Search = (query: string, limit: number) => ReadonlyArray<string>

/** The share of queries with an acceptable tool among the first `limit` results. `idOf` gives `SERVER/TOOL` of a result. */
export const recall = (
  search: Search,
  part: ReadonlyArray<Query>,
  limit: number,
  idOf: (name: string) => string | undefined
): number =>
  part.filter(({ query, tools }) => search(query, limit).some((name) => tools.includes(idOf(name) ?? ""))).length /
  part.length
