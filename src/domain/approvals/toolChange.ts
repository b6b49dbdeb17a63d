import { describeHint } from "../tools/toolAnnotations.ts"
import { asObject, parseJsonObject } from "../json.ts"
import { describeParameters } from "../schemas/describeSchema.ts"
import type { ToolChange } from "../tools/toolPins.ts"

type Difference = ToolChange["differences"][number]

/** What changed in one part of a tool: sentences as far as they say it, and both texts. */
export interface DescribedDifference extends Omit<Difference, "part"> {
  readonly title: string
  readonly sentences: ReadonlyArray<string>
}

const titles: { readonly [Part in Difference["part"]]: string } = {
  name: "name",
  description: "description",
  schema: "parameters",
  annotations: "hints",
  server: "how its MCP server starts"
}

type Parameter = ReturnType<typeof describeParameters>[number]

const describeTypes = (name: string, before: string, after: string): string => {
  const [old, next] = [before.split(" | "), after.split(" | ")]
  const added = next.filter((type) => !old.includes(type))
  const removed = old.filter((type) => !next.includes(type))
  if (added.length > 0 && removed.length > 0) return `${name} is now ${after} instead of ${before}`
  return added.length > 0
    ? `${name} may also be ${added.join(" or ")}`
    : `${name} may not be ${removed.join(" or ")} any more`
}

/** The changes of a parameter. Its name is quoted: it is foreign. */
const describeParameter = (key: string, before?: Parameter, after?: Parameter): ReadonlyArray<string> => {
  const name = JSON.stringify(key)
  if (after === undefined) return [`${name} is gone`]
  const [, type, required, byDefault, description] = after
  if (before === undefined) return [`${name} is new${required === "" ? "" : " and required"}: ${type}`]
  const [, oldType, wasRequired, oldDefault, oldDescription] = before
  return [
    ...(type === oldType ? [] : [describeTypes(name, oldType, type)]),
    ...(required === wasRequired ? [] : [`${name} is ${required === "" ? "not required any more" : "now required"}`]),
    ...(byDefault === oldDefault ? [] : [`${name} is ${byDefault || "absent"} when it is left out`]),
    ...(description === oldDescription ? [] : [`${name} is described as ${JSON.stringify(description)}`])
  ]
}

const describeSchemas = (before: string, after: string): ReadonlyArray<string> => {
  const schemas = [before, after].map(parseJsonObject)
  // A truncated text is no JSON.
  if (schemas.includes(undefined)) return []
  const [old, next] = schemas.map((schema) => new Map(describeParameters(asObject(schema)).map((row) => [row[0], row])))
  const names = new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])
  return [...names].flatMap((name) => describeParameter(name, old?.get(name), next?.get(name)))
}

const describeAnnotations = (before: string, after: string): ReadonlyArray<string> => {
  const [old, next] = [before, after].map((text) => new Map(Object.entries(asObject(parseJsonObject(text)))))
  return [...new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])].flatMap((name) => {
    const [was, is] = [old?.get(name), next?.get(name)]
    if (JSON.stringify(was) === JSON.stringify(is)) return []
    const words = describeHint(name, is)
    if (words !== undefined) return [`The tool now says that it ${words}`]
    const former = describeHint(name, was)
    if (is === undefined && former !== undefined) return [`The tool does not say any more that it ${former}`]
    return [`${JSON.stringify(name)} is ${is === undefined ? "gone" : `now ${JSON.stringify(is)}`}`]
  })
}

/** Says in words how a tool has changed. Texts of the tool in sentences are quoted. */
export const describeToolChange = ({
  differences
}: Pick<ToolChange, "differences">): ReadonlyArray<DescribedDifference> =>
  differences.map(({ part, ...texts }) => {
    const describe = part === "schema" ? describeSchemas : part === "annotations" ? describeAnnotations : () => []
    return { title: titles[part], sentences: describe(texts.before, texts.after), ...texts }
  })
