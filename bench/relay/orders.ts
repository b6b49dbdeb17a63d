/** What the benchmark asks of a measured server, which runs in a process of its own. */
export type Order =
  /** CPU time it has used so far. */
  | { readonly _tag: "Cpu" }
  /** Its memory, after everything that can be collected has been. */
  | { readonly _tag: "Memory" }
  /** From now on where the CPU time goes is written down … */
  | { readonly _tag: "StartProfile" }
  /** … until now, and kept in this file. */
  | { readonly _tag: "StopProfile"; readonly file: string }
  | { readonly _tag: "Stop" }

/** What a measured server answers: one report to an order, in the order they came, and none to `Stop`. */
export type Report =
  /** It can be reached here: an address like `127.0.0.1:1234`. */
  | { readonly _tag: "Listening"; readonly address: string }
  /** Microseconds in user and system mode together. */
  | { readonly _tag: "Cpu"; readonly micros: number }
  /** Bytes. */
  | { readonly _tag: "Memory"; readonly rss: number; readonly heap: number }
  | { readonly _tag: "Profiling" }
  | { readonly _tag: "Profiled" }
