import { Data, type Effect } from "effect"
import type { DeviceCredentials } from "../../domain/devices/handshake.ts"

/** A device may not come in. Trying again with the same token or name does not help. */
export class DeviceRejected extends Data.TaggedError("DeviceRefused")<{ readonly message: string }> {}

/**
 * Decides whether a device may come in, by what it shows and the address it comes from, and may say by which name it
 * goes; otherwise it goes by the name it gives itself.
 */
export type AuthenticateDevice = (
  credentials: DeviceCredentials & { readonly remoteAddress: string }
) => Effect.Effect<{ readonly name?: string }, DeviceRejected>
