import type { JsonObject } from "../../../../src/domain/json.ts"

/** Values that fit in few places. */
const oddValues: ReadonlyArray<unknown> = [
  null,
  5,
  -1.5,
  "x",
  "",
  true,
  false,
  [],
  [null],
  [5, "x"],
  [[]],
  [{}],
  {},
  { a: null },
  { a: 5 },
  { type: 5 }
]

/** A schema with most keywords. */
export const wholeSchema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "https://example.com/schema",
  type: "object",
  properties: { a: { type: "string", pattern: "^a$", format: "uri", enum: ["a"] }, b: { $ref: "#/$defs/c" }, d: true },
  required: ["a"],
  additionalProperties: { type: ["integer", "null"], minimum: 1, multipleOf: 2, nullable: true },
  patternProperties: { "^x": { minLength: 1 } },
  dependentRequired: { a: ["b"] },
  dependencies: { a: ["b"], b: { required: ["a"] } },
  allOf: [{ not: { items: [{ const: 1 }], prefixItems: [{}], uniqueItems: true, contains: {}, maxItems: 3 } }],
  anyOf: [{ if: {}, else: {} }],
  $defs: { c: { title: "C", description: "c", default: null, examples: [1] } }
}

const schema = {
  type: "object",
  properties: { a: { type: "string" }, d: true },
  required: ["a"],
  $id: "https://a.example/s"
}

const shared = {
  title: "T",
  description: "does it",
  icons: [{ src: "https://a.example/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }],
  _meta: { a: 1, ui: { resourceUri: "ui://app/form", visibility: ["model", "app"] } }
}

const annotations = { audience: ["user"], priority: 0.5, lastModified: "2025-01-12T15:00:58Z" }

/** A complete item of each list. */
export const wholeItems = {
  tools: {
    name: "whole",
    ...shared,
    inputSchema: schema,
    outputSchema: schema,
    annotations: { title: "T", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    execution: { taskSupport: "optional" }
  },
  resources: { uri: "ui://app/whole", name: "whole", ...shared, mimeType: "text/html", size: 3, annotations },
  templates: { uriTemplate: "note://{id}", name: "whole", ...shared, mimeType: "text/plain", annotations },
  prompts: {
    name: "whole",
    ...shared,
    arguments: [{ name: "city", title: "City", description: "where", required: true }]
  }
} satisfies { readonly [list: string]: JsonObject }

const isContainer = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

/** The paths to all parts of a value. */
const pathsIn = (value: unknown, path: ReadonlyArray<string> = []): ReadonlyArray<ReadonlyArray<string>> =>
  isContainer(value)
    ? Object.keys(value).flatMap((name) => [[...path, name], ...pathsIn(value[name], [...path, name])])
    : []

/** A copy of a value with another part at a path; `undefined` removes the part. */
const replacePart = (value: unknown, [first, ...rest]: ReadonlyArray<string>, part: unknown): unknown => {
  if (first === undefined || !isContainer(value)) return part
  const copy: Record<string, unknown> = Array.isArray(value) ? Object.assign([], value) : { ...value }
  copy[first] = replacePart(value[first], rest, part)
  if (copy[first] === undefined && !Array.isArray(copy)) delete copy[first]
  return copy
}

/** An item with one odd or missing part. */
export interface OddItem {
  readonly item: JsonObject
  readonly label: string
}

/**
 * All items with one odd part, at every level. Each has another identity, unless that is the odd part: `identify` makes
 * it of a number.
 */
export const oddItems = (
  whole: JsonObject,
  identity: string,
  identify: (index: number) => string
): ReadonlyArray<OddItem> =>
  pathsIn(whole)
    .flatMap((path) => [undefined, ...oddValues].map((part) => [path, part] as const))
    .map(([path, part], index) => ({
      item: replacePart({ ...whole, [identity]: identify(index) }, path, part) as JsonObject,
      label: `${path.join("/")} = ${JSON.stringify(part)}`
    }))
