import type { JsonObject } from "../json.ts"

/** A way to call a tool of a pack over HTTP. */
export interface PackRoute {
  /** Path of the endpoint, such as `/tools/text_counter`. */
  readonly endpoint: string
  /** Name of the tool that is called. */
  readonly tool: string
  /** Parameters come as a form, which may carry files; as JSON otherwise. */
  readonly useForm: boolean
  /** JSON Schema of the parameters, an object. */
  readonly params: JsonObject
  /** Names of the parameters that are files, and whether each takes many. */
  readonly files: { readonly [name: string]: { readonly multiple: boolean } }
}

/** What a loaded pack offers. */
export interface PackManifest {
  readonly routes: ReadonlyArray<PackRoute>
  /** Its tools as MCP lists them; each has a name. */
  readonly tools: ReadonlyArray<JsonObject>
  /** What is odd about the pack, in words. */
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

/** Makes a problem of the whole body, or of the parameter at a path in it. */
export const paramsProblem = (
  msg: string,
  path: ReadonlyArray<string | number> = [],
  type = "value_error"
): ParamsProblem => ({ loc: ["body", ...path], msg, type })
