import { Schema } from "effect"
import { makeCodec } from "../validation.ts"

/** Lines of stderr of an MCP server that a Computer keeps, and characters of each. */
export const stderrBounds = { lines: 50, characters: 500 } as const

const Text = Schema.String.check(Schema.isMaxLength(2000))
export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const listOf = <S extends Schema.Constraint>(item: S, max: number) => Schema.Array(item).check(Schema.isMaxLength(max))

export const InspectedServer = Schema.Struct({
  name: Text,
  state: Schema.Literals(["starting", "ready", "degraded", "idle", "restarting", "failing", "failed", "stopped"]),
  reason: Schema.optionalKey(Text),
  /** Milliseconds of the epoch. */
  since: Schema.Finite,
  /** Starts after the first one, since the Computer started. */
  restarts: Count,
  tools: Count,
  windows: Count,
  /** The last lines of its stderr, where the Computer shares them. */
  stderr: Schema.optionalKey(listOf(Text, stderrBounds.lines))
})
export type InspectedServer = typeof InspectedServer.Type

/** How the Computer decides about calls of a tool. */
const InspectedConsent = Schema.Struct({
  tool: Text,
  rule: Schema.Literals(["runs without consent", "needs consent", "decided by a policy", "forbidden"])
})
export type InspectedConsent = typeof InspectedConsent.Type

/** Faults of a part, the latest ones, and characters of each. */
export const maxFaults = 10
export const maxFaultLength = 500

/** A failed call or an invalid message of a device. */
const InspectedFault = Schema.Struct({
  /** Milliseconds of the epoch. */
  at: Schema.Finite,
  text: Text
})
export type InspectedFault = typeof InspectedFault.Type

/** Services or tools of a part. */
export const maxOffers = 200

/** A device or a tool pack behind a Computer. */
export const InspectedPart = Schema.Struct({
  kind: Schema.Literals(["device", "pack"]),
  name: Text,
  state: Text,
  reason: Schema.optionalKey(Text),
  /** Services of a device, or tools of a pack. */
  offers: listOf(Text, maxOffers),
  /** The oldest one first. */
  faults: Schema.optionalKey(listOf(InspectedFault, maxFaults))
})
export type InspectedPart = typeof InspectedPart.Type

/** Devices or packs of a list. */
export const maxParts = 500

/** The resource by which an MCP server of this project lists its devices or tool packs. */
export const partsUri = "a2c://parts"

/** The text of {@link partsUri}, as JSON. */
export const partsCodec = makeCodec(Schema.fromJsonString(listOf(InspectedPart, maxParts)))

/** What a Computer reports to the operators that watch its office. */
export const Inspection = Schema.Struct({
  servers: listOf(InspectedServer, 200),
  consent: listOf(InspectedConsent, 2000),
  parts: listOf(InspectedPart, maxParts)
})
export type Inspection = typeof Inspection.Type
