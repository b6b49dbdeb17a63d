import { Duration } from "effect"
import { defaultFrameLimits, type FrameLimits } from "../../domain/devices/framing/frame.ts"

/** Limits of a device connection, for either end. */
export interface DeviceLimits extends FrameLimits {
  /** How long the remote end may take to complete a frame. */
  readonly frameTimeout: Duration.Duration
  /** Concurrent calls per device. */
  readonly maxCalls: number
  readonly callTimeout: Duration.Duration
}

export const defaultDeviceLimits: DeviceLimits = {
  ...defaultFrameLimits,
  frameTimeout: Duration.seconds(30),
  maxCalls: 16,
  callTimeout: Duration.seconds(30)
}

export interface GatewayLimits extends DeviceLimits {
  /** Concurrent connections. */
  readonly maxDevices: number
  /** Services per device. */
  readonly maxServices: number
  /**
   * Bytes of frames that all devices together have not read, or have sent in part. Above it, the gateway closes the slowest
   * connections.
   */
  readonly maxBufferedBytes: number
  /** How long an unauthenticated device may take to send AUTH. */
  readonly authTimeout: Duration.Duration
  /** The gateway closes a connection that receives nothing for this long. */
  readonly idleTimeout: Duration.Duration
}

/** Default limits of a gateway; both timeouts are those of the parent protocol. */
export const defaultGatewayLimits: GatewayLimits = {
  ...defaultDeviceLimits,
  maxDevices: 4096,
  maxServices: 256,
  maxBufferedBytes: 256 * 1024 * 1024,
  authTimeout: Duration.seconds(5),
  idleTimeout: Duration.minutes(5)
}
