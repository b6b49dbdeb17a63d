import { setFlagsFromString } from "node:v8"

/**
 * Tells V8 that this process passes bodies on, and keeps little: messages are memory outside of its heap, and by its
 * own rules every few dozen megabytes of them cost a collection of the whole heap, half of the time of a relay of
 * large messages. With these rules they are part of one limit, and the young generation stays small, so that they
 * go with it. For the process, as early as possible; where V8 has no such rules nothing happens.
 */
export const tuneForRelay = (): void => {
  if (Number(process.versions.node.split(".")[0]) < 24) return
  setFlagsFromString("--external-memory-accounted-in-global-limit")
  setFlagsFromString("--semi-space-growth-factor=1")
}
