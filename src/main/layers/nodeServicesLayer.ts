import { Effect, Layer } from "effect"

/**
 * File system, processes and paths of Node. They are imported when they are used: with another version of effect the import
 * fails, and would hide the reason that the entry points give.
 */
export const nodeServicesLayer = Layer.unwrap(
  Effect.map(
    Effect.promise(() => import("@effect/platform-node/NodeServices")),
    ({ layer }) => layer
  )
)
