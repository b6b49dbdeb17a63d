/** Where faults go. */
export interface LinkDiagnosticsOptions {
  /** Something is wrong that an operator should know. */
  readonly warn: (message: string, fields: { readonly [name: string]: string }) => void
  /** A handler has thrown. */
  readonly onDefect: (error: unknown) => void
}

/** What goes wrong between nodes: counted, and told an operator, but not for every message. */
export class LinkDiagnostics {
  readonly #options: LinkDiagnosticsOptions
  #hasWarnedInvalid = false
  #hasWarnedOverflow = false
  #rejectedGeneration = 0
  /** Answers that nobody waited for, and messages that could not be read or held. */
  ignored = 0
  /** Tells and answers that were left out. */
  unsent = 0

  constructor(options: LinkDiagnosticsOptions) {
    this.#options = options
  }

  /** Whatever else is on the channel is none of ours. One warning is enough; a flood of it must not flood the log. */
  onInvalidMessage(how: string): void {
    this.ignored++
    if (this.#hasWarnedInvalid) return
    this.#hasWarnedInvalid = true
    this.#options.warn("a message on this node's channel is none of a node of this version", { how })
  }

  /** More of a node is under way than may be held: said once, since who sends too much once does so again. */
  onOverflow(node: string): void {
    this.ignored++
    if (this.#hasWarnedOverflow) return
    this.#hasWarnedOverflow = true
    this.#options.warn("a body from another node is dropped: too much has not come whole", { from: node })
  }

  /** Redis does not let us publish: said once for each connection, since it would be said for every message. */
  onPublishRejected(generation: number, reason: string): void {
    if (this.#rejectedGeneration === generation) return
    this.#rejectedGeneration = generation
    this.#options.warn("Redis refused a message to another node", { reason })
  }

  /** What others do with what they hear is none of the connection's business. */
  runGuarded(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      this.#options.onDefect(error)
    }
  }
}
