import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Effect, Schema } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { InputAnswer } from "../../../domain/model/InputRequest.ts"

/** Return value of a method: a value, a promise, or an Effect, which is interrupted when the call is cancelled. */
export type ToolReturn<A> = A | PromiseLike<A> | Effect.Effect<A, unknown>

/** Parameters of a tool: an Effect Schema, a Standard Schema (such as zod), or a JSON Schema. */
export type ToolParams = Schema.ConstraintDecoder<unknown> | StandardSchemaV1 | { readonly [keyword: string]: unknown }

/** Type of the arguments for a schema. A plain JSON Schema is validated at runtime but has no static types. */
export type ParamsOf<P> =
  P extends Schema.ConstraintDecoder<unknown>
    ? P["Type"]
    : P extends StandardSchemaV1
      ? StandardSchemaV1.InferOutput<P>
      : { readonly [name: string]: unknown }

/** Structured fields of a log message. */
export interface LogFields {
  readonly [name: string]: unknown
}

/** Writes to the log of the host, with the name of the pack. */
export interface ToolLogger {
  readonly debug: (message: string, fields?: LogFields) => void
  readonly info: (message: string, fields?: LogFields) => void
  readonly warn: (message: string, fields?: LogFields) => void
  readonly error: (message: string, fields?: LogFields) => void
}

export type ToolProgress = McpProgress

/** A question to the user of a call: a form of the fields of a flat JSON Schema of an object, or a page to open. */
export type ToolQuestion =
  | { readonly message: string; readonly schema: JsonObject }
  | { readonly message: string; readonly url: string }

export interface ToolContext {
  /** Aborts when the caller cancels or disconnects. */
  readonly signal: AbortSignal
  readonly logger: ToolLogger
  /** Reports progress to the caller, if it asks for progress. */
  readonly progress: (progress: ToolProgress) => void
  /**
   * Asks the user of the call: at the Agent, on the office page, or through `onInput` of this Computer. Declined where none
   * of them answers questions. Rejects for an invalid question, and when the call is cancelled.
   */
  readonly ask: (question: ToolQuestion) => Promise<InputAnswer>
  /** The name of the caller, such as that of the Agent; `undefined` for one without a name. It is no proof of identity. */
  readonly requester: string | undefined
  /** Content of the pack's `config.yaml`; empty outside of packs. */
  readonly config: { readonly [key: string]: unknown }
}

/** Route of a tool over HTTP. */
export interface RouteConfig {
  /** Path, such as `/tools/fetch`. */
  readonly endpoint: string
  readonly params: ToolParams
  /** Parameters come as a form; implied by a file parameter. */
  readonly useForm?: boolean
  /** Tool to call; the name of the pack by default. */
  readonly toolName?: string
}

/** A {@link RouteConfig} with the names of Automata. */
export interface SnakeRouteConfig {
  readonly endpoint: string
  readonly params_class: ToolParams
  readonly use_form?: boolean
  readonly tool_name?: string
}

/** MCP tool annotations. */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

/** MCP tool definition. */
export interface ListedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  /** The parameters of the tool's route by default. */
  readonly inputSchema?: ToolParams
  /** The schema of structured content. */
  readonly outputSchema?: ToolParams
  readonly annotations?: ToolAnnotations
}

/**
 * A pack of tools as a class, constructed once, without arguments, when the host loads it. Extending this class is
 * optional: any class with these methods works, also with the names `get_route_config`, `list_tools` and `call_tool`.
 */
export abstract class BaseMcpTool {
  /** Routes over HTTP. */
  abstract getRouteConfig(): ToolReturn<RouteConfig | SnakeRouteConfig | ReadonlyArray<RouteConfig | SnakeRouteConfig>>

  /** Tools over MCP. */
  abstract listTools(): ToolReturn<ReadonlyArray<ListedTool>>

  /**
   * Calls a tool with validated and decoded arguments; annotate them as `ParamsOf<typeof params>`.
   *
   * Returns a string, a `Blob` (an image, a sound, a file), a `URL` (a link), an MCP content block, or a list of these. It
   * may also return an MCP tool result, or any JSON value, which becomes structured content and text.
   */
  abstract callTool(name: string, params: object, context: ToolContext): unknown

  /** Runs once when the host unloads the pack, after its last call, with a timeout of 5 seconds. */
  dispose?(): ToolReturn<void>
}
