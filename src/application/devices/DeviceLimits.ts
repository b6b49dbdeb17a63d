import { Duration } from "effect"
import { defaultFrameLimits, type FrameLimits } from "../../domain/devices/framing/frame.ts"

/** Bounds of what the far end of a device connection may send or hold, and of how long it may take. */
export interface DeviceLimits extends FrameLimits {
  /** How long a frame that has begun may take until it is complete. */
  readonly frameTimeout: Duration.Duration
  /** How many calls of one device may run at once. */
  readonly maxCalls: number
  /** How long a call may take. */
  readonly callTimeout: Duration.Duration
}

/** Limits that both ends of a connection share, unless an operator says otherwise. */
export const defaultDeviceLimits: DeviceLimits = {
  ...defaultFrameLimits,
  frameTimeout: Duration.seconds(30),
  maxCalls: 16,
  callTimeout: Duration.seconds(30)
}

/** Bounds of a gateway, for all of its devices together and for each. */
export interface GatewayLimits extends DeviceLimits {
  /** How many connections there may be at once. */
  readonly maxDevices: number
  /** How many services one device may register. */
  readonly maxServices: number
  /** How long a device may take to show its token, where one is asked for. */
  readonly authTimeout: Duration.Duration
  /** A device of which nothing is heard for so long is gone. */
  readonly idleTimeout: Duration.Duration
}

/** Limits of a gateway unless its operator says otherwise; the two times are those of the parent protocol. */
export const defaultGatewayLimits: GatewayLimits = {
  ...defaultDeviceLimits,
  maxDevices: 4096,
  maxServices: 256,
  authTimeout: Duration.seconds(5),
  idleTimeout: Duration.minutes(5)
}
