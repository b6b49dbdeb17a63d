import type { McpProgress } from "../../application/ports/McpSession.ts"
import type { PackCall, PackFailure, PackSource } from "../../application/ports/PackLoader.ts"
import type { JsonObject } from "../../domain/json.ts"
import type { PackOffer } from "../../domain/packs/offer.ts"
import type { PackLine } from "./runtime.ts"

/** What the thread of a pack starts with. */
export type ThreadStart = PackSource

/** What the thread is told: calls and giving them up, by a number for each, and in the end to clean up. */
export type Order =
  | { readonly type: "call"; readonly id: number; readonly call: PackCall }
  | { readonly type: "abort"; readonly id: number }
  | { readonly type: "dispose" }

/** A {@link PackFailure} as plain data. */
export type PlainFailure = Pick<PackFailure, "kind" | "message" | "problems">

/** What the thread says. */
export type Report =
  | { readonly type: "ready"; readonly offer: PackOffer }
  | { readonly type: "unusable"; readonly message: string }
  | { readonly type: "progress"; readonly id: number; readonly progress: McpProgress }
  | { readonly type: "done"; readonly id: number; readonly result: JsonObject }
  | { readonly type: "failed"; readonly id: number; readonly failure: PlainFailure }
  /** It has heard an `abort` or a `dispose`, one for each in order: the thread is alive. */
  | { readonly type: "heard" }
  | { readonly type: "log"; readonly line: PackLine }
  | { readonly type: "disposed" }
