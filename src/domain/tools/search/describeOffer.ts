import type { Tool } from "../../model/Tool.ts"
import { byCodePoints } from "../../utf8.ts"
import { shortToolName } from "../naming.ts"
import { singleLine } from "../singleLine.ts"
import { parseToolMeta } from "../toolMeta.ts"
import { queryWords } from "./words.ts"

/** Characters of the text, which a model reads in each conversation. Two thirds at most are for Computers. */
const maxLength = 900

/** Characters of one foreign name. */
const maxNameLength = 40

const maxServersPerComputer = 12

/** Words of names that state an action; the others say more about the kind of a tool. */
const actions = new Set(
  (
    "add all and append apply by by cancel check clear close complete copy create delete describe disable download drop " +
    "edit enable execute export fetch find for from get insert list make manage move new open or query read remove rename " +
    "reset run save search send set show start stop to update upload use view with write"
  ).split(" ")
)

const isKind = (word: string): boolean => word.length > 2 && !/^\d/.test(word) && !actions.has(word)

/** Most frequent first, then in the order of code points: the order of the items does not matter. */
const byFrequency = (values: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...Map.groupBy(values, (value) => value)]
    .toSorted(([one, ones], [other, others]) => others.length - ones.length || byCodePoints(one, other))
    .map(([value]) => singleLine(value, maxNameLength))
    .filter((value) => value !== "")

/** The first items whose texts, joined, have at most this length. */
const fitting = (items: ReadonlyArray<string>, separator: string, length: number): ReadonlyArray<string> => {
  let left = length + separator.length
  const end = items.findIndex((item) => (left -= item.length + separator.length) < 0)
  return end === -1 ? items : items.slice(0, end)
}

/** Joins the first items, and states how many are left out. */
const joinFirst = (all: ReadonlyArray<string>, shown: ReadonlyArray<string>, separator: string): string =>
  [...shown, ...(all.length > shown.length ? [`${all.length - shown.length} more`] : [])].join(separator)

export interface ComputerOffer {
  readonly tools: ReadonlyArray<Tool>
  /** Its MCP servers, for protocol lines whose tools do not name theirs. */
  readonly servers: ReadonlyArray<string>
}

const describeComputer = (name: string, offer: ComputerOffer): string => {
  const { tools } = offer
  const named = tools.flatMap(({ bundleId }) => (bundleId === undefined ? [] : [bundleId]))
  const servers = byFrequency(named.length === 0 ? offer.servers : named)
  const shown = joinFirst(servers, servers.slice(0, maxServersPerComputer), ", ")
  return `${singleLine(name, maxNameLength)} (${shown === "" ? `tools: ${tools.length}` : shown})`
}

/** The tags of tools, then the words of their names. */
const kindsOf = (tools: ReadonlyArray<Tool>): ReadonlyArray<string> => {
  const tags = byFrequency(tools.flatMap(({ meta }) => parseToolMeta(meta)?.tags ?? []))
  const words = byFrequency(
    tools.flatMap((tool) => {
      const server = new Set(queryWords(tool.bundleId ?? "", maxNameLength))
      return queryWords(shortToolName(tool), maxNameLength).filter((word) => isKind(word) && !server.has(word))
    })
  )
  return [...new Set([...tags, ...words])]
}

/**
 * Describes what an office offers, for the description of its search: Computers with their MCP servers, and kinds of
 * tools. One line of bounded length, which depends on the offer alone. Foreign names are shortened and have no control
 * characters.
 */
export const describeOffer = (computers: ReadonlyMap<string, ComputerOffer>): string => {
  const sorted = [...computers].toSorted(([one], [other]) => byCodePoints(one, other))
  const tools = sorted.flatMap(([, offer]) => offer.tools)
  if (tools.length === 0) return "The office has no tools now."
  const described = sorted.map(([name, offer]) => describeComputer(name, offer))
  const shown = fitting(described, "; ", (maxLength * 2) / 3)
  const owners = `Tools: ${tools.length}. Computers with their MCP servers: ${joinFirst(described, shown, "; ")}.`
  const label = " Kinds of tools: "
  const kinds = fitting(kindsOf(tools), ", ", maxLength - owners.length - label.length - 1).join(", ")
  return kinds === "" ? owners : `${owners}${label}${kinds}.`
}
