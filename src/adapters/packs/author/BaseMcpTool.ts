import type { StandardSchemaV1 } from "@standard-schema/spec"
import type { Effect, Schema } from "effect"

/** What a pack gives back: at once, as a promise, or as an Effect, which is interrupted when a call is cancelled. */
export type ToolReturn<A> = A | PromiseLike<A> | Effect.Effect<A, unknown>

/** Parameters of a tool: an Effect Schema, a Standard Schema such as one of zod, or a JSON Schema as it is. */
export type ToolParams =
  | Schema.ConstraintDecoder<unknown>
  | StandardSchemaV1
  | { readonly [keyword: string]: unknown }

/** What a tool gets for parameters of this kind; those of a plain JSON Schema are checked but have no types. */
export type ArgsOf<P> =
  P extends Schema.ConstraintDecoder<unknown>
    ? P["Type"]
    : P extends StandardSchemaV1
      ? StandardSchemaV1.InferOutput<P>
      : { readonly [name: string]: unknown }

/** What is logged beside a message. */
export interface LogFields {
  readonly [name: string]: unknown
}

/** Writes to the log of the host, under the name of the pack. */
export interface ToolLogger {
  readonly debug: (message: string, fields?: LogFields) => void
  readonly info: (message: string, fields?: LogFields) => void
  readonly warn: (message: string, fields?: LogFields) => void
  readonly error: (message: string, fields?: LogFields) => void
}

/** How far a call is. */
export interface ToolProgress {
  /** Grows from one report to the next. */
  readonly progress: number
  /** What `progress` will be in the end, when that is known. */
  readonly total?: number
  readonly message?: string
}

/** What a call knows of its surroundings. */
export interface ToolContext {
  /** Is aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal
  readonly logger: ToolLogger
  /** Tells whoever called how far the call is; nothing happens when it does not want to know. */
  readonly progress: (progress: ToolProgress) => void
  /** What `config.yaml` of the pack says. */
  readonly config: { readonly [key: string]: unknown }
}

/** How a tool is called over HTTP. */
export interface RouteConfig {
  /** Path of the endpoint, such as `/tools/fetch`. */
  readonly endpoint: string
  readonly params: ToolParams
  /** Parameters come as a form; a parameter that is a file makes it one anyway. */
  readonly useForm?: boolean
  /** The tool that is called; the name of the pack unless given. */
  readonly toolName?: string
}

/** A {@link RouteConfig} in the words of Automata. */
export interface SnakeRouteConfig {
  readonly endpoint: string
  readonly params_class: ToolParams
  readonly use_form?: boolean
  readonly tool_name?: string
}

/** Hints of what a tool does, as MCP has them. */
export interface ToolAnnotations {
  readonly title?: string
  readonly readOnlyHint?: boolean
  readonly destructiveHint?: boolean
  readonly idempotentHint?: boolean
  readonly openWorldHint?: boolean
}

/** A tool as MCP lists it. */
export interface ListedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  /** In any form that parameters take; those of the tool's route unless given. */
  readonly inputSchema?: ToolParams
  readonly outputSchema?: { readonly [keyword: string]: unknown }
  readonly annotations?: ToolAnnotations
}

/**
 * A pack of tools as a class. Extending it helps the compiler help you; a class that just fits is taken all the same,
 * and so are the names `get_route_config`, `list_tools` and `call_tool`.
 *
 * It is constructed once, without arguments, when the pack is loaded.
 */
export abstract class BaseMcpTool {
  /** Endpoints over HTTP. */
  abstract getRouteConfig(): ToolReturn<
    RouteConfig | SnakeRouteConfig | ReadonlyArray<RouteConfig | SnakeRouteConfig>
  >

  /** Tools over MCP. */
  abstract listTools(): ToolReturn<ReadonlyArray<ListedTool>>

  /**
   * Calls a tool. The arguments have been checked against its parameters, and are what their schema makes of them:
   * annotate them as `ArgsOf<typeof params>`.
   *
   * The result may be a text, a content block of MCP or a list of them, a whole result of MCP, or any value of JSON,
   * which is given as structured content and as text.
   */
  abstract callTool(name: string, args: object, context: ToolContext): unknown

  /** Is called once when the pack is unloaded, after its calls have ended. It has five seconds. */
  dispose?(): ToolReturn<void>
}
