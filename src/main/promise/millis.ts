import { Duration } from "effect"

/** Converts an optional time in milliseconds. */
export const millis = (time: number | undefined): Duration.Duration | undefined =>
  time === undefined ? undefined : Duration.millis(time)
