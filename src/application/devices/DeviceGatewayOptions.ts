import { Data, type Effect } from "effect"
import type { Frame } from "../../domain/devices/framing/frame.ts"
import type { DeviceCredentials } from "../../domain/devices/handshake.ts"
import type { GatewayLimits } from "./DeviceLimits.ts"

/** The gateway rejects a device; a retry with the same token or name fails again. */
export class DeviceRejected extends Data.TaggedError("DeviceRejected")<{ readonly message: string }> {}

/** Authenticates a device by its credentials and address. A `name` in the result replaces the name it asks for. */
export type AuthenticateDevice = (
  credentials: DeviceCredentials & { readonly remoteAddress: string }
) => Effect.Effect<{ readonly name?: string }, DeviceRejected>

/** Handles frames other than MCP messages, such as the voice and text of a dialogue. */
type OnDeviceFrame = (device: string, frame: Frame, reply: (frame: Frame) => Effect.Effect<void>) => Effect.Effect<void>

export interface DeviceGatewayOptions {
  /** Address to listen on; `127.0.0.1` by default, which only this machine reaches. */
  readonly host?: string
  /** 0 picks a free port. */
  readonly port: number
  /** How devices authenticate. `"allowAll"` admits every device that reaches the address, with any name. */
  readonly authenticate: AuthenticateDevice | "allowAll"
  readonly limits?: Partial<GatewayLimits>
  /**
   * Answers every registration with a `registered` message: the number of accepted services, and the errors of the
   * others. The protocol has no such message, so devices must know it. Off by default.
   */
  readonly acknowledgeRegistration?: boolean
  readonly onFrame?: OnDeviceFrame
}
