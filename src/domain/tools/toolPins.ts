import { Schema } from "effect"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import type { ServerConfig } from "../config/computerConfig.ts"
import { asObject, asStrings, canonicalJson, parseJson, stringOrEmpty } from "../json.ts"
import { BoundedText } from "../model/fields.ts"
import { wireStruct } from "../model/wireStruct.ts"
import { definedOnly } from "../objects.ts"
import { quoteForShell } from "../text/quoteForShell.ts"
import { isSecretName } from "../text/secretNames.ts"
import type { CatalogueEntry } from "./catalogue.ts"
import { parseAnnotations } from "./toolAnnotations.ts"
import { encodeUtf8 } from "../utf8.ts"

/** The parts of a tool whose change needs a new approval. */
const toolParts = ["name", "description", "schema", "annotations", "server"] as const

/** Characters of one part of a pin. */
export const maxPartLength = 4000

const Part = Schema.String.check(Schema.isMaxLength(maxPartLength + 100))

/**
 * A tool as it is approved: texts to show, the schema and annotations as indented JSON. `server` identifies the endpoint of
 * the MCP server, and `launch` shows it; `source` is where its configuration comes from. Files of earlier versions have
 * neither of these two.
 */
const PinnedDefinition = Schema.Struct({
  name: Part,
  description: Part,
  schema: Part,
  annotations: Part,
  server: Part,
  launch: Schema.optionalKey(Part),
  source: Schema.optionalKey(Schema.String)
})
export type PinnedDefinition = typeof PinnedDefinition.Type

/** The definition of a tool that was approved last. */
export const ToolPin = Schema.Struct({
  server: Schema.String,
  /** The name at the MCP server. */
  tool: Schema.String,
  digest: Schema.String,
  /** Truncated, for display. */
  definition: PinnedDefinition,
  /** Milliseconds of the epoch. */
  at: Schema.Finite,
  by: Schema.String
})
export type ToolPin = typeof ToolPin.Type

const Difference = Schema.Struct({ part: Schema.Literals(toolParts), before: BoundedText, after: BoundedText })

/** How a tool differs from the one that was approved. */
export const ToolChange = wireStruct({
  approvedAt: Schema.Finite,
  approvedBy: BoundedText,
  differences: Schema.Array(Difference).check(Schema.isMaxLength(toolParts.length))
})
export type ToolChange = typeof ToolChange.Type

/** Pins of a Computer. The oldest ones are dropped first. */
export const maxPins = 1000

export const sha256Hex = (text: string): string => bytesToHex(sha256(encodeUtf8(text)))

const indented = (value: unknown): string => JSON.stringify(parseJson(canonicalJson(value)), null, 2)

const truncatePart = (text: string): string =>
  text.length <= maxPartLength ? text : `${text.slice(0, maxPartLength - 1).toWellFormed()}…`

const secret = "(hidden)"

/** A URL without user and password, and with the names of the parameters of its query only. */
const publicUrl = (url: string): string =>
  url
    .replace(/#.*$/s, "")
    .replace(/^([^/?]*\/\/)[^/?]*@/, "$1")
    .replaceAll(/([?&][^=&]*)=[^&]*/g, `$1=${secret}`)

/** The words of a command, without the values of secret names: `--token x`, `API_KEY=x`, `Authorization: x`. */
const withoutSecrets = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.map((word, index) => {
    const [, name = "", mark = ""] = /^([^:=]+)([:=])./s.exec(word) ?? []
    if (isSecretName(name)) return `${name}${mark}${secret}`
    const before = words[index - 1] ?? ""
    const isValue = /^-[^=]+$/.test(before) && isSecretName(before) && !word.startsWith("-")
    return isValue ? secret : word.includes("://") ? publicUrl(word) : word
  })

/** How an MCP server starts, or its address, for people: without values that may be secrets. */
const describeLaunch = ({ parameters }: ServerConfig): string => {
  const { args, command, cwd, env, headers, url } = parameters
  const words = withoutSecrets([stringOrEmpty(command), ...(asStrings(args) ?? [])])
  const names = (label: string, values: unknown): string => {
    const all = Object.keys(asObject(values)).toSorted()
    return all.length === 0 ? "" : `${label}: ${all.join(", ")}`
  }
  return [
    command === undefined ? publicUrl(stringOrEmpty(url)) : words.map(quoteForShell).join(" "),
    typeof cwd === "string" ? `folder: ${cwd}` : "",
    names("environment variables", env),
    names("headers", headers)
  ]
    .filter((line) => line !== "")
    .join("\n")
}

/**
 * The definition of a tool, and its digest over all of it: also over what is truncated, and over the endpoint of the MCP
 * server, which the definition only names.
 */
export const makePinnedDefinition = (
  { originalName, server, tool }: CatalogueEntry,
  config: ServerConfig | undefined,
  source?: string
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
      server: `${truncatePart(server)} (${endpoint.type} ${sha256Hex(canonicalJson(endpoint)).slice(0, 8)})`,
      ...definedOnly({ launch: config && truncatePart(describeLaunch(config)), source })
    },
    digest: sha256Hex(canonicalJson(parts))
  }
}

/** Stands for the endpoint in pins of earlier versions. */
const unknownLaunch = "(not recorded)"

/** How a tool differs from its pin; `undefined` when it does not. */
export const findToolChange = (pin: ToolPin | undefined, digest: string, definition: PinnedDefinition) => {
  if (pin === undefined || pin.digest === digest) return undefined
  const textOf = (of: PinnedDefinition, part: (typeof toolParts)[number]) =>
    part === "server" && pin.definition.server !== definition.server ? (of.launch ?? unknownLaunch) : of[part]
  const parts = toolParts.map((part) => ({
    part,
    before: textOf(pin.definition, part),
    after: textOf(definition, part)
  }))
  const differences = parts.filter(({ after, before }) => before !== after)
  return { approvedAt: pin.at, approvedBy: pin.by, differences }
}

/**
 * The pin to compare a tool with: the one of the same endpoint, or else the latest one from the same source of the
 * configuration, in which the endpoint has changed. Under the same names another configuration has other tools.
 */
export const findPin = (
  pins: ReadonlyArray<ToolPin>,
  { originalName, server }: Pick<CatalogueEntry, "originalName" | "server">,
  { server: endpoint, source }: Pick<PinnedDefinition, "server" | "source">
): ToolPin | undefined => {
  const ofTool = pins.filter((pin) => pin.server === server && pin.tool === originalName)
  return (
    ofTool.find(({ definition }) => definition.server === endpoint) ??
    ofTool.findLast(({ definition }) => definition.source === source)
  )
}

/** Adds a pin instead of the one of the same tool and endpoint. */
export const addPin = (pins: ReadonlyArray<ToolPin>, added: ToolPin): ReadonlyArray<ToolPin> => {
  const isReplaced = ({ definition, server, tool }: ToolPin) =>
    server === added.server && tool === added.tool && definition.server === added.definition.server
  return [...pins.filter((pin) => !isReplaced(pin)), added].slice(-maxPins)
}
