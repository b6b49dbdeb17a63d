import type { Clock } from "effect"
import type { Authenticator } from "../../ports/Authenticator.ts"
import type { NodeLink } from "../../ports/NodeLink.ts"
import type { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import type { Limits } from "../connections/Limits.ts"
import type { CompletedCall, MembershipEvent } from "../observability/observers.ts"
import type { ServerMetrics } from "../observability/ServerMetrics.ts"
import type { Readiness } from "./Readiness.ts"
import type { ServerSettings } from "./ServerSettings.ts"

/** The services and settings of one Server, which the constructors of its parts take. */
export interface ServerContext {
  readonly registry: OfficeRegistry["Service"]
  readonly nodeLink: NodeLink["Service"]
  readonly authenticator: Authenticator["Service"]
  readonly metrics: ServerMetrics["Service"]
  readonly readiness: Readiness["Service"]
  readonly limits: Limits
  readonly settings: ServerSettings
  readonly callObservers: ReadonlyArray<(call: CompletedCall) => void>
  readonly membershipObservers: ReadonlyArray<(event: MembershipEvent) => void>
  readonly clock: Clock.Clock
}
