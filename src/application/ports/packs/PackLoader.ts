import { Context, Data, type Effect, type Scope } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { PackLanguage } from "../../../domain/packs/packNames.ts"
import type { PackExecution } from "../../../domain/packs/packExecution.ts"
import type { PackManifest, ParamsProblem } from "../../../domain/packs/PackManifest.ts"
import type { McpCallOptions } from "../McpSession.ts"

export interface PackSource {
  readonly language: PackLanguage
  /** The absolute path of the interpreter, for a Python pack. */
  readonly interpreter?: string
  /** The name of its folder, or of its only file without `_tool`. */
  readonly name: string
  /** The absolute path of the pack's folder, or of the folder that holds its only file. */
  readonly folder: string
  /** The absolute path of the module to load. */
  readonly file: string
  /** The class in the module, such as `VideoGenerateTool`. */
  readonly className: string
  /** Changes with every file of the pack. */
  readonly version: string
  /** The content of `config.yaml`. */
  readonly config: JsonObject
  /** Run it in a separate process that can be killed; Python packs always are. */
  readonly isolated: boolean
  /** Memory limit of an isolated pack, in MiB. */
  readonly memory: number
}

/** A file uploaded with a call. It stays on disk until the call has ended. */
export interface PackFile {
  /** Original name, without folders. */
  readonly filename: string
  /** Media type, such as `text/plain`; `application/octet-stream` by default. */
  readonly contentType: string
  /** In bytes. */
  readonly size: number
  /** Absolute path. */
  readonly path: string
}

export interface PackCall {
  readonly tool: string
  /** Unvalidated parameters. Those of a form are strings or lists of strings, which are converted by the schema. */
  readonly params: JsonObject
  readonly form: boolean
  /** The files of a form by parameter name. */
  readonly files: { readonly [name: string]: ReadonlyArray<PackFile> }
  /** Who runs the call for what, for Python packs. Only calls over `/execute` have it. */
  readonly execution?: PackExecution
}

/**
 * A pack, or a call of one, failed.
 *
 * - `invalid_params`: the parameters are invalid; `problems` says how
 * - `unknown_tool`: the pack has no such tool
 * - `failed`: the code of the pack failed
 * - `crashed`: the process of the pack exited
 * - `unusable`: the pack cannot be loaded
 * - `timed_out`: the call took longer than its limit
 * - `busy`: the queue of the pack is full
 */
export class PackError extends Data.TaggedError("PackError")<{
  readonly reason: "invalid_params" | "unknown_tool" | "failed" | "crashed" | "unusable" | "timed_out" | "busy"
  readonly message: string
  readonly problems?: ReadonlyArray<ParamsProblem>
}> {}

export interface LoadedPack {
  readonly manifest: PackManifest
  /** Calls a tool and gives its MCP result. Interruption aborts the `signal` of the tool. */
  readonly call: (call: PackCall, options?: McpCallOptions) => Effect.Effect<JsonObject, PackError>
  /** Resolves with the reason when the pack ends unexpectedly. */
  readonly exited: Effect.Effect<string>
}

export class PackLoader extends Context.Service<
  PackLoader,
  {
    /** Loads a pack as long as the scope. Another version of the same pack may be loaded at the same time. */
    readonly load: (source: PackSource) => Effect.Effect<LoadedPack, PackError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/PackLoader") {}
