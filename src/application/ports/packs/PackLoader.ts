import { Context, Data, type Effect, type Scope } from "effect"
import type { JsonObject } from "../../../domain/json.ts"
import type { PackManifest, ParamsProblem } from "../../../domain/packs/PackManifest.ts"
import type { McpProgress } from "../McpSession.ts"

/** Where a pack is, and how it is to be loaded. */
export interface PackSource {
  /** Name of the pack: of its folder, or of its only file without `_tool`. */
  readonly name: string
  /** The folder that is the pack's own, by absolute path; the folder of the file for a pack of one file. */
  readonly folder: string
  /** The module to load, by absolute path. */
  readonly file: string
  /** Name of the class in there, as `VideoGenerateTool`. */
  readonly className: string
  /** Changes whenever a file of the pack does. */
  readonly version: string
  /** What `config.yaml` says, as it says it. */
  readonly config: JsonObject
  /** Run it apart from everything else, so that it can be killed. */
  readonly isolated: boolean
  /** How much memory an isolated pack may take, in MiB. */
  readonly memory: number
}

/** A file that came with a call. It is on disk until the call has ended. */
export interface UploadedFile {
  readonly filename: string
  readonly contentType: string
  /** In bytes. */
  readonly size: number
  /** Where it is, by absolute path. */
  readonly path: string
}

/** One call of a tool of a pack. */
export interface PackCall {
  readonly tool: string
  /**
   * The parameters, not checked yet. Those of a form are texts, or lists of texts, that become what the schema wants.
   */
  readonly args: JsonObject
  readonly form: boolean
  /** The files of a form by the name of their parameter. */
  readonly files: { readonly [name: string]: ReadonlyArray<UploadedFile> }
}

/**
 * A pack, or a call of one, failed.
 *
 * - `invalid_params`: the parameters are invalid; `problems` says how
 * - `unknown_tool`: the pack has no such tool
 * - `failed`: the code of the pack failed
 * - `crashed`: the process of the pack exited
 * - `unusable`: the pack cannot be loaded
 */
export class PackError extends Data.TaggedError("PackError")<{
  readonly reason: "invalid_params" | "unknown_tool" | "failed" | "crashed" | "unusable"
  readonly message: string
  readonly problems?: ReadonlyArray<ParamsProblem>
}> {}

/** A pack whose code runs. */
export interface LoadedPack {
  readonly manifest: PackManifest
  /** Calls a tool and gives its result as MCP has it. Interrupting it aborts the `signal` that the tool sees. */
  readonly call: (
    call: PackCall,
    onProgress: (progress: McpProgress) => Effect.Effect<void>
  ) => Effect.Effect<JsonObject, PackError>
  /** Waits until what runs the pack is gone without our asking, and says why. */
  readonly exited: Effect.Effect<string>
}

/** Runs the code of packs. */
export class PackLoader extends Context.Service<
  PackLoader,
  {
    /** Loads a pack, which is disposed of with the scope. Another version of the same pack may be loaded meanwhile. */
    readonly load: (source: PackSource) => Effect.Effect<LoadedPack, PackError, Scope.Scope>
  }
>()("a2c-smcp/application/ports/PackLoader") {}
