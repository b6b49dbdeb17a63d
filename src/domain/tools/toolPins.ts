import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import type { ServerConfig } from "../config/computerConfig.ts"
import { canonicalJson, parseJson } from "../json.ts"
import type { CatalogueEntry } from "./catalogue.ts"
import { parseAnnotations } from "./toolAnnotations.ts"
import { encodeUtf8 } from "../utf8.ts"

/** The parts of a tool whose change needs a new approval. */
export const toolParts = ["name", "description", "schema", "annotations", "server"] as const

type ToolPart = (typeof toolParts)[number]

/** A tool as it is approved: texts to show, the schema and annotations as indented JSON. */
export type PinnedDefinition = { readonly [P in ToolPart]: string }

/** The definition of a tool that was approved last. */
export interface ToolPin {
  readonly server: string
  /** The name at the MCP server. */
  readonly tool: string
  readonly digest: string
  /** Truncated, for display. */
  readonly definition: PinnedDefinition
  /** Milliseconds of the epoch. */
  readonly at: number
  readonly by: string
}

/** How a tool differs from the one that was approved. */
export interface ToolChange {
  readonly approvedAt: number
  readonly approvedBy: string
  readonly differences: ReadonlyArray<{ readonly part: ToolPart; readonly before: string; readonly after: string }>
}

/** Pins of a Computer. The oldest ones are dropped first. */
export const maxPins = 1000

/** Characters of one part of a pin. */
export const maxPartLength = 4000

export const sha256Hex = (text: string): string => bytesToHex(sha256(encodeUtf8(text)))

const indented = (value: unknown): string => JSON.stringify(parseJson(canonicalJson(value)), null, 2)

const truncatePart = (text: string): string =>
  text.length <= maxPartLength ? text : `${text.slice(0, maxPartLength - 1).toWellFormed()}…`

/**
 * The definition of a tool, and its digest over all of it: also over what is truncated, and over the endpoint of the MCP
 * server, which the definition only names.
 */
export const makePinnedDefinition = (
  { originalName, server, tool }: CatalogueEntry,
  config: ServerConfig | undefined
): { readonly definition: PinnedDefinition; readonly digest: string } => {
  const annotations = parseAnnotations(tool.meta) ?? {}
  const endpoint = { type: config?.type ?? "", parameters: config?.parameters ?? {} }
  const parts = [originalName, tool.description, tool.paramsSchema, annotations, server, endpoint]
  return {
    definition: {
      name: truncatePart(originalName),
      description: truncatePart(tool.description),
      schema: truncatePart(indented(tool.paramsSchema)),
      annotations: truncatePart(indented(annotations)),
      server: `${truncatePart(server)} (${endpoint.type} ${sha256Hex(canonicalJson(endpoint)).slice(0, 8)})`
    },
    digest: sha256Hex(canonicalJson(parts))
  }
}

/** How a tool differs from its pin; `undefined` when it does not. */
export const findToolChange = (
  pin: ToolPin | undefined,
  digest: string,
  definition: PinnedDefinition
): ToolChange | undefined => {
  if (pin === undefined || pin.digest === digest) return undefined
  const parts = toolParts.map((part) => ({ part, before: pin.definition[part], after: definition[part] }))
  const differences = parts.filter(({ after, before }) => before !== after)
  return { approvedAt: pin.at, approvedBy: pin.by, differences }
}

export const findPin = (
  pins: ReadonlyArray<ToolPin>,
  { originalName, server }: Pick<CatalogueEntry, "originalName" | "server">
): ToolPin | undefined => pins.find((pin) => pin.server === server && pin.tool === originalName)

/** Adds a pin instead of the one of the same tool. */
export const addPin = (pins: ReadonlyArray<ToolPin>, added: ToolPin): ReadonlyArray<ToolPin> =>
  [...pins.filter(({ server, tool }) => server !== added.server || tool !== added.tool), added].slice(-maxPins)
