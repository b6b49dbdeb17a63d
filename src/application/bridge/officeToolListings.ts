import { definedOnly } from "../../domain/objects.ts"
import type { JsonObject } from "../../domain/json.ts"
import { callingTool } from "../../domain/tools/naming.ts"

/** How many tools a search gives. */
export const searchResults = { defaultCount: 10, maxCount: 50 }

const property = (type: string, description: string, bounds: JsonObject = {}) => ({ type, description, ...bounds })

const officeTool = (
  name: string,
  title: string,
  description: string,
  properties: JsonObject,
  { isReadOnly = true, required }: { isReadOnly?: boolean; required?: ReadonlyArray<string> } = {}
): JsonObject => ({
  name,
  description,
  inputSchema: { type: "object", properties, ...definedOnly({ required }) },
  annotations: { title, ...(isReadOnly && { readOnlyHint: true, openWorldHint: false }) }
})

/** Tools of the office itself; no exposed name of a Computer's tool equals theirs. */
export const officeToolListings: ReadonlyArray<JsonObject> = [
  officeTool(
    "computers_list",
    "List Computers",
    "Lists the Computers of the office and the number of their tools.",
    {}
  ),
  officeTool(
    "desktop_get",
    "Show desktop",
    "Shows the current windows of one Computer or of all Computers. Each window begins with its URI.",
    {
      computer: property("string", "Name of the Computer; all Computers by default"),
      size: property("integer", "Maximum number of windows per Computer", { minimum: 1 }),
      window: property("string", "Only the window with exactly this URI")
    }
  )
]

/** Tools that find and call tools; `offer` describes what the office has, because models do not search the unknown. */
export const searchToolListings = (offer: string): ReadonlyArray<JsonObject> => [
  officeTool(
    "tools_search",
    "Search tools",
    "Finds tools of this office by keywords for a task. Returns names and descriptions; " +
      `tools_describe returns the parameters of a tool, tools_call calls it. ${offer}`,
    {
      query: property("string", "Keywords for the task"),
      limit: property("integer", "Maximum number of tools", { minimum: 1, maximum: searchResults.maxCount })
    },
    { required: ["query"] }
  ),
  officeTool(
    "tools_describe",
    "Describe tools",
    "Returns the full definitions of tools of this office: purpose, parameters and results.",
    { names: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 20 } },
    { required: ["names"] }
  ),
  officeTool(
    callingTool,
    "Call a tool",
    "Calls a tool of this office by its name from tools_search.",
    {
      name: property("string", "Name of the tool"),
      arguments: property("object", "Arguments of the tool, as tools_describe defines them")
    },
    { required: ["name"], isReadOnly: false }
  )
]

/** The tool that reads on in results above the limit. */
export const resultToolListing: JsonObject = officeTool(
  "result_read",
  "Read a large result",
  "Reads on in a result that was too large to return whole: the text from an offset on, up to the same limit.",
  {
    id: property("string", "ID of the result, as its summary states it"),
    offset: property("integer", "Number of characters to skip", { minimum: 0 })
  },
  { required: ["id"] }
)
