import { asObject } from "../../json.ts"
import type { Tool } from "../../model/Tool.ts"
import { definedOnly } from "../../objects.ts"
import { withoutRoundedIntegers } from "../../schemas/roundedIntegers.ts"
import type { RoundedItem } from "./mcpListings.ts"
import type { ComputerName } from "../../model/ids.ts"

/** The tools of a Computer of any implementation without rounded integers, and those that had some. */
export const toExactTools = (
  computer: ComputerName,
  tools: ReadonlyArray<Tool>
): { readonly tools: ReadonlyArray<Tool>; readonly rounded: ReadonlyArray<RoundedItem> } => {
  const rounded: Array<RoundedItem> = []
  const toExact = (tool: Tool): Tool => {
    const { meta, name, paramsSchema, returnSchema } = tool
    const { places, value } = withoutRoundedIntegers({ paramsSchema, returnSchema, ...definedOnly({ meta }) })
    if (places.length === 0) return tool
    rounded.push({ name: `${computer}/${name}`, places })
    return {
      ...tool,
      paramsSchema: asObject(value["paramsSchema"]),
      ...(returnSchema !== null && { returnSchema: asObject(value["returnSchema"]) }),
      ...(meta !== undefined && { meta: asObject(value["meta"]) })
    }
  }
  return { tools: tools.map(toExact), rounded }
}
