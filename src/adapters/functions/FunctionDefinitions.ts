import type { JsonObject } from "../../domain/json.ts"
import type { ToolContext, ToolParams } from "../packs/author/BaseMcpTool.ts"
import type { ToolDefinition } from "../packs/author/defineTool.ts"

type Awaitable<A> = A | PromiseLike<A>

type AnyTool = Omit<ToolDefinition<ToolParams>, "run" | "endpoint" | "useForm">

/**
 * A tool of any parameters, or of none; `defineTool` gives `run` the types of its parameters. Its name has 1 to 128 letters,
 * digits, `_`, `-` and `.`. A page takes no Effect Schema, only a Standard Schema or a JSON Schema.
 */
export interface FunctionTool extends Partial<Omit<AnyTool, "name">>, Pick<AnyTool, "name"> {
  /** Runs the tool with validated and decoded arguments; return values are those of `BaseMcpTool.callTool`. */
  run(params: { readonly [name: string]: unknown }, context: ToolContext): unknown
}

/** A text that changes: a store of Svelte, a signal of Preact, an observable with a current value. */
export interface TextSignal {
  /** Calls the listener with the current text, and with each later one. */
  readonly subscribe: (listener: (text: string) => void) => (() => void) | { readonly unsubscribe: () => void }
}

/** A window on the desktop: a text for the Agent. */
export interface FunctionWindow {
  /** Unique among the windows of this Computer; the URI is `window://functions/NAME`. */
  readonly name: string
  readonly title?: string
  readonly description?: string
  /** 0 to 100; compared among the windows of this Computer. */
  readonly priority?: number
  /** Hides the other windows of this Computer. */
  readonly fullscreen?: boolean
  /** A function is called for each desktop, and `changed` announces another text. A signal announces its changes. */
  readonly text: TextSignal | (() => Awaitable<string>)
}

/** A document that Agents find and fetch. */
export interface FunctionDocument {
  /** Unique among the documents of this Computer; the URI is `dpe://functions/NAME`. */
  readonly name: string
  readonly title?: string
  /** A summary, which the search of documents reads as well. */
  readonly description?: string
  readonly mimeType?: string
  /** The number of its pages: the search lists only documents with one. */
  readonly pages?: number
  readonly keywords?: ReadonlyArray<string>
  /**
   * Gives the document: a text, bytes, or the `http` or `https` URL from which Agents fetch it. A text and bytes need
   * `settings.resolveDpe`, which stores them at such a URL.
   */
  readonly read: () => Awaitable<string | Blob | URL | JsonObject>
}

/** What functions of this program offer to an office. */
export interface Functions {
  readonly tools?: ReadonlyArray<FunctionTool>
  readonly windows?: ReadonlyArray<FunctionWindow>
  readonly documents?: ReadonlyArray<FunctionDocument>
}
