import { exposeTools, type OfficeTools, type OfficeToolsOptions } from "../../src/application/bridge/exposeTools.ts"
import { describeTools, searchTools } from "../../src/application/bridge/officeTools.ts"
import { type OfficeView, unknownComputer } from "../../src/application/agent/OfficeView.ts"
import { shortToolName } from "../../src/domain/tools/naming.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import type { Tool } from "../../src/domain/model/Tool.ts"

/** A tool of a data set; functions of BFCL have no MCP server. */
export interface SourceTool {
  readonly server?: string
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

export interface Query {
  readonly query: string
  /** What the task needs: each item has the acceptable tools for one need, `SERVER/TOOL` or `TOOL`. */
  readonly needs: ReadonlyArray<ReadonlyArray<string>>
}

/** Changes of the ranking may use the tuning part; the held-out part only checks them. */
export interface Parts {
  readonly tuning: ReadonlyArray<Query>
  readonly "held out": ReadonlyArray<Query>
}

/** An office with tools, and queries for them. */
export interface SearchSet {
  readonly name: string
  readonly view: OfficeView
  /** The office in search mode. */
  readonly office: OfficeTools
  readonly queries: ReadonlyArray<readonly [kind: string, parts: Parts]>
}

const toTool = ({ description, inputSchema, name, server }: SourceTool): Tool => ({
  name: server === undefined ? name : `${server}__${name}`,
  ...(server !== undefined && { bundleId: server }),
  description,
  paramsSchema: inputSchema,
  returnSchema: null,
  meta: {}
})

/** Makes an office of Computers with these tools, named by bundle ids as from line 0.3 on. */
export const toOfficeView = (computers: ReadonlyMap<string, ReadonlyArray<SourceTool>>): OfficeView => ({
  members: [...computers.keys()].map((name) => ({ name, role: "computer" })),
  computers: new Map(
    [...computers].map(([name, tools]) => [
      name,
      { ...unknownComputer, tools: tools.map(toTool), desktop: [], documents: [], skills: [] }
    ])
  )
})

export const toSearchSet = (name: string, view: OfficeView, queries: SearchSet["queries"]): SearchSet => ({
  name,
  view,
  office: exposeTools(view, { tools: "search" }),
  queries
})

/** Splits queries alternately, each second one is held out. */
export const alternate = (queries: ReadonlyArray<Query>): Parts => ({
  tuning: queries.filter((_, index) => index % 2 === 0),
  "held out": queries.filter((_, index) => index % 2 === 1)
})

export interface Recall {
  /** The mean share of the needs of a query that the first results meet. */
  readonly share: number
  /** The share of queries of which the first results meet a need. */
  readonly any: number
}

/** Gives the recall of the first `limit` results. */
export const recall = ({ office }: SearchSet, queries: ReadonlyArray<Query>, limit: number): Recall => {
  const shares = queries.map(({ needs, query }) => {
    const found = new Set(
      office
        .index()
        .search(query, limit)
        .flatMap((name) => {
          const tool = office.byName.get(name)?.tool
          if (tool === undefined) return []
          return tool.bundleId === undefined ? tool.name : `${tool.bundleId}/${shortToolName(tool)}`
        })
    )
    return needs.filter((names) => names.some((name) => found.has(name))).length / needs.length
  })
  const any = shares.filter((share) => share > 0).length / shares.length
  return { share: shares.reduce((sum, share) => sum + share, 0) / shares.length, any }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** The bytes of `tools/list` in each mode, and the mean of the results of the search tools for a query of the first kind. */
export const contexts = ({ office, queries, view }: SearchSet, pinned: ReadonlyArray<string>) => {
  const listed = (options: OfficeToolsOptions) => bytesOf({ tools: exposeTools(view, options).listed })
  const all = Object.values(queries[0]?.[1] ?? {}).flat()
  const mean = (resultOf: (query: Query) => unknown) =>
    Math.round(all.reduce((sum, query) => sum + bytesOf(resultOf(query)), 0) / all.length)
  return {
    "whole list": listed({ tools: "all" }),
    search: listed({ tools: "search" }),
    ...(pinned.length > 0 && { "search with pins": listed({ tools: "search", pinned }) }),
    "result of tools_search": mean(({ query }) => searchTools(office, { query }, () => 1)),
    "result of tools_describe": mean(({ query }) => describeTools(office, { names: office.index().search(query, 1) }))
  }
}
