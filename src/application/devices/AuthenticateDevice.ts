import { Data, type Effect } from "effect"
import type { DeviceCredentials } from "../../domain/devices/handshake.ts"

/** The gateway rejects a device; a retry with the same token or name fails again. */
export class DeviceRejected extends Data.TaggedError("DeviceRejected")<{ readonly message: string }> {}

/** Authenticates a device by its credentials and address. A `name` in the result replaces the name it asks for. */
export type AuthenticateDevice = (
  credentials: DeviceCredentials & { readonly remoteAddress: string }
) => Effect.Effect<{ readonly name?: string }, DeviceRejected>
