import type { Duration, Effect } from "effect"
import type { RegistryChange } from "../../../application/ports/OfficeRegistry.ts"
import type { LocalOffices } from "./LocalOffices.ts"
import type { RegistryScripts } from "./RegistryScripts.ts"
import type { SyncState } from "./SyncState.ts"

/** What the parts of one registry share. */
export interface RegistryContext {
  readonly node: string
  /** How long joins wait after the registry has lost its data, or is new. */
  readonly gracePeriod: Duration.Duration
  readonly local: LocalOffices
  readonly sync: SyncState
  readonly scripts: RegistryScripts
  readonly isReady: () => boolean
  readonly emit: (change: RegistryChange) => void
  readonly run: (effect: Effect.Effect<void>) => void
}
