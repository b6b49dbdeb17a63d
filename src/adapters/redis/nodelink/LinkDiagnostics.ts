export interface LinkDiagnosticsOptions {
  readonly warn: (message: string, fields: { readonly [name: string]: string }) => void
  readonly onDefect: (error: unknown) => void
}

/** Counts faults between nodes and logs the first of each kind, since a faulty node must not flood the log. */
export class LinkDiagnostics {
  readonly #options: LinkDiagnosticsOptions
  #hasWarnedInvalid = false
  #hasWarnedOverflow = false
  #hasWarnedDirect = false
  #rejectedGeneration = 0
  /** Late replies, and messages that are invalid or exceed the reassembly budget. */
  ignored = 0
  /** Notifications and replies that were dropped. */
  unsent = 0

  constructor(options: LinkDiagnosticsOptions) {
    this.#options = options
  }

  onInvalidMessage(reason: string): void {
    this.ignored++
    if (!this.#hasWarnedInvalid) this.#options.warn("invalid node message", { reason })
    this.#hasWarnedInvalid = true
  }

  onOverflow(from: string): void {
    this.ignored++
    if (!this.#hasWarnedOverflow)
      this.#options.warn("node message dropped", { reason: "reassembly_budget_exceeded", from })
    this.#hasWarnedOverflow = true
  }

  /** Messages to the node are published instead. */
  onDirectFailed(to: string, reason: string): void {
    if (!this.#hasWarnedDirect) this.#options.warn("no direct connection to another node", { to, reason })
    this.#hasWarnedDirect = true
  }

  /** Logs once for each connection: Redis rejects every message of a connection. */
  onPublishRejected(generation: number, reason: string): void {
    if (this.#rejectedGeneration !== generation) this.#options.warn("Redis publish rejected", { reason })
    this.#rejectedGeneration = generation
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
