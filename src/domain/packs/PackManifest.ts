import type { FileParams } from "../schemas/jsonSchema.ts"
import { truncateQuote } from "../errorMessage.ts"
import type { JsonObject } from "../json.ts"

/** A route that calls a tool of a pack over HTTP. */
export interface PackRoute {
  /** Path, such as `/tools/text_counter`. */
  readonly endpoint: string
  readonly tool: string
  /** Parameters come as a form, with files or without; otherwise as JSON. */
  readonly useForm: boolean
  readonly params: JsonObject
  readonly files: FileParams
  /** A call over `/execute` must name a session. */
  readonly requiresSession?: boolean
}

/** Routes and tools of a loaded pack. */
export interface PackManifest {
  readonly routes: ReadonlyArray<PackRoute>
  /** MCP tool definitions; each has a name. */
  readonly tools: ReadonlyArray<JsonObject>
  readonly warnings: ReadonlyArray<string>
}

/** One error in the parameters of a call, in the form of FastAPI, which clients of the original parse. */
export interface ParamsProblem {
  /** Path, such as `["body", "text"]`. */
  readonly loc: ReadonlyArray<string | number>
  readonly msg: string
  /** A code of pydantic, such as `missing` or `value_error`. */
  readonly type: string
}

/** In characters; a longer path ends with `…`. */
const maxPathLength = 256

const truncatePath = (path: ReadonlyArray<string | number>): ReadonlyArray<string | number> => {
  let length = 0
  const end = path.findIndex((key) => (length += String(key).length + 1) > maxPathLength)
  if (end === -1) return path
  return end === 0 ? [truncateQuote(String(path[0]))] : [...path.slice(0, end), "…"]
}

/** Without a path, the problem is of the whole body. */
export const paramsProblem = (
  msg: string,
  path: ReadonlyArray<string | number> = [],
  type = "value_error"
): ParamsProblem => ({ loc: ["body", ...truncatePath(path)], msg, type })
