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

/** One thing that is wrong with the parameters of a call, in the form that clients of the original parse. */
export interface ParamsProblem {
  /** Where: `["body", "text"]`. */
  readonly loc: ReadonlyArray<string | number>
  readonly msg: string
  /** A kind of problem, such as `missing` or `value_error`. */
  readonly type: string
}
