import { Duration } from "effect"
import { defaultLimits, type FrameLimits } from "../../domain/devices/limits.ts"

/** Bounds of what the far end of a device connection may send or hold, and of how long it may take. */
export interface DeviceLimits extends FrameLimits {
  /** How long a frame that has begun may take until it is complete. */
  readonly frameTime: Duration.Duration
  /** How many calls of one device may run at once. */
  readonly mostCalls: number
  /** How long a call may take. */
  readonly callTimeout: Duration.Duration
}

/** Limits that both ends of a connection share, unless an operator says otherwise. */
export const usualLimits: DeviceLimits = {
  ...defaultLimits,
  frameTime: Duration.seconds(30),
  mostCalls: 16,
  callTimeout: Duration.seconds(30)
}

/** Bounds of a gateway, for all of its devices together and for each. */
export interface GatewayLimits extends DeviceLimits {
  /** How many connections there may be at once. */
  readonly mostDevices: number
  /** How many services one device may register. */
  readonly mostServices: number
  /** How long a device may take to show its token, where one is asked for. */
  readonly authTime: Duration.Duration
  /** A device of which nothing is heard for so long is gone. */
  readonly idleTime: Duration.Duration
}

/** Limits of a gateway unless its operator says otherwise; the two times are those of the parent protocol. */
export const usualGatewayLimits: GatewayLimits = {
  ...usualLimits,
  mostDevices: 4096,
  mostServices: 256,
  authTime: Duration.seconds(5),
  idleTime: Duration.minutes(5)
}
