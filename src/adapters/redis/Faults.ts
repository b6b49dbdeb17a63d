/** Where faults go. */
export interface FaultsOptions {
  /** Something is wrong that an operator should know. */
  readonly warn: (message: string, fields: { readonly [name: string]: string }) => void
  /** A handler has thrown. */
  readonly defect: (error: unknown) => void
}

/** What goes wrong between nodes: counted, and told an operator, but not for every message. */
export class Faults {
  readonly #options: FaultsOptions
  #warned = false
  #overflowed = false
  #refused = 0
  /** Answers that nobody waited for, and messages that could not be read or held. */
  ignored = 0
  /** Tells and answers that were left out. */
  unsent = 0

  constructor(options: FaultsOptions) {
    this.#options = options
  }

  /** Whatever else is on the channel is none of ours. One warning is enough; a flood of it must not flood the log. */
  garbled(how: string): void {
    this.ignored++
    if (this.#warned) return
    this.#warned = true
    this.#options.warn("a message on this node's channel is none of a node of this version", { how })
  }

  /** More of a node is under way than may be held: said once, since who sends too much once does so again. */
  overflowed(node: string): void {
    this.ignored++
    if (this.#overflowed) return
    this.#overflowed = true
    this.#options.warn("a body from another node is dropped: too much has not come whole", { from: node })
  }

  /** Redis does not let us publish: said once for each connection, since it would be said for every message. */
  refused(incarnation: number, reason: string): void {
    if (this.#refused === incarnation) return
    this.#refused = incarnation
    this.#options.warn("Redis refused a message to another node", { reason })
  }

  /** What others do with what they hear is none of the connection's business. */
  guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#options.defect(error)
    }
  }
}
