import { readFileSync } from "node:fs"
import { exposeTools, type OfficeToolsOptions } from "../../src/application/bridge/exposeTools.ts"
import { describeTools, searchTools } from "../../src/application/bridge/officeTools.ts"
import { type OfficeView, unknownComputer } from "../../src/application/agent/OfficeView.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import type { Tool } from "../../src/domain/model/Tool.ts"

/** The tools of one public MCP server, as it listed them: `tools.json` has one in each line. */
interface Source {
  /** Its name in the configuration of a host. */
  readonly server: string
  readonly package: string
  readonly version: string
  readonly license: string
  readonly tools: ReadonlyArray<{
    readonly name: string
    readonly description: string
    readonly inputSchema: JsonObject
  }>
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
const view: OfficeView = {
  members: computers.map((name) => ({ name, role: "computer" })),
  computers: new Map(
    computers.map((computer, at) => [
      computer,
      {
        ...unknownComputer,
        tools: sources
          .filter((_, index) => index % computers.length === at)
          .flatMap(({ server, tools }) => tools.map((tool) => toTool(server, tool))),
        desktop: [],
        documents: [],
        skills: []
      }
    ])
  )
}

/** The office in search mode. */
export const office = exposeTools(view, { tools: "search" })

/** The share of queries with an acceptable tool among the first `limit` results. */
export const recall = (part: ReadonlyArray<Query>, limit: number): number => {
  const idOf = (name: string) => office.byName.get(name)?.tool.name.replace("__", "/") ?? ""
  const isFound = ({ query, tools }: Query) =>
    office
      .index()
      .search(query, limit)
      .some((name) => tools.includes(idOf(name)))
  return part.filter(isFound).length / part.length
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Eleven tools that a host might pin. */
const pins = [
  "github__get_*",
  "slack__slack_post_message",
  "filesystem__read_text_file",
  "google-calendar__list-events",
  "mail__send_email"
]

/** The bytes of `tools/list` in each mode, and the mean of the results of the search tools for a query. */
export const contexts = (): { readonly [what: string]: number } => {
  const listed = (options: OfficeToolsOptions) => bytesOf({ tools: exposeTools(view, options).listed })
  const mean = (resultOf: (query: Query) => unknown) =>
    Math.round(queries.reduce((sum, query) => sum + bytesOf(resultOf(query)), 0) / queries.length)
  return {
    "whole list": listed({ tools: "all" }),
    search: listed({ tools: "search" }),
    "search with pins": listed({ tools: "search", pinned: pins }),
    "result of tools_search": mean((query) => searchTools(office, { query: query.query }, () => 1)),
    "result of tools_describe": mean(({ query }) => describeTools(office, { names: office.index().search(query, 1) }))
  }
}
