/** An order of the benchmark to a measured server in a separate process. */
export type Order =
  /** Requests its CPU time. */
  | { readonly _tag: "Cpu" }
  /** Requests its memory after garbage collection. */
  | { readonly _tag: "Memory" }
  /** Starts a CPU profile. */
  | { readonly _tag: "StartProfile" }
  /** Ends the profile and writes it to a file. */
  | { readonly _tag: "StopProfile"; readonly file: string }
  | { readonly _tag: "Stop" }

/** A reply of a measured server: one per order, in their order, and none to `Stop`. */
export type Report =
  /** Its address, like `127.0.0.1:1234`. */
  | { readonly _tag: "Listening"; readonly address: string }
  /** Microseconds in user and system mode. */
  | { readonly _tag: "Cpu"; readonly micros: number }
  /** Bytes. */
  | { readonly _tag: "Memory"; readonly rss: number; readonly heap: number }
  | { readonly _tag: "Profiling" }
  | { readonly _tag: "Profiled" }
