import type { Effect } from "effect"
import type { Frame } from "../../../domain/devices/framing/frame.ts"
import type { AuthenticateDevice } from "../AuthenticateDevice.ts"
import type { GatewayLimits } from "../DeviceLimits.ts"
import type { AuthThrottle } from "./AuthThrottle.ts"
import type { DeviceRegistry } from "./DeviceRegistry.ts"

/** Handles frames other than MCP messages, such as the voice and text of a dialogue. */
export type OnDeviceFrame = (
  device: string,
  frame: Frame,
  reply: (frame: Frame) => Effect.Effect<void>
) => Effect.Effect<void>

/** Parts that all connections of a gateway share. */
export interface GatewayContext {
  readonly registry: DeviceRegistry
  readonly limits: GatewayLimits
  /** Undefined when the gateway admits every device. */
  readonly authenticate: AuthenticateDevice | undefined
  readonly acknowledgeRegistration: boolean
  readonly onFrame: OnDeviceFrame | undefined
  readonly authThrottle: AuthThrottle
}
