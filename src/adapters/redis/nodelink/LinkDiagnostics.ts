export interface LinkDiagnosticsOptions {
  readonly warn: (message: string, fields: { readonly [name: string]: string }) => void
  readonly onDefect: (error: unknown) => void
}

/** Counts faults between nodes and logs the first of each kind. */
export class LinkDiagnostics {
  readonly #options: LinkDiagnosticsOptions
  #hasWarnedInvalid = false
  #hasWarnedOverflow = false
  #rejectedGeneration = 0
  /** Late replies, and messages that are invalid or exceed the reassembly budget. */
  ignored = 0
  /** Notifications and replies that were dropped. */
  unsent = 0

  constructor(options: LinkDiagnosticsOptions) {
    this.#options = options
  }

  /** Logs once: a flood of invalid messages must not flood the log. */
  onInvalidMessage(reason: string): void {
    this.ignored++
    if (this.#hasWarnedInvalid) return
    this.#hasWarnedInvalid = true
    this.#options.warn("invalid node message", { reason })
  }

  /** Logs once: a node that exceeds the reassembly budget does so repeatedly. */
  onOverflow(node: string): void {
    this.ignored++
    if (this.#hasWarnedOverflow) return
    this.#hasWarnedOverflow = true
    this.#options.warn("node message dropped", { reason: "reassembly_budget_exceeded", from: node })
  }

  /** Logs once for each connection: Redis rejects every message of a connection. */
  onPublishRejected(generation: number, reason: string): void {
    if (this.#rejectedGeneration === generation) return
    this.#rejectedGeneration = generation
    this.#options.warn("Redis publish rejected", { reason })
  }

  /** Runs a callback; its exception must not reach the connection. */
  runGuarded(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      this.#options.onDefect(error)
    }
  }
}
