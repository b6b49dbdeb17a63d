import type { Transport } from "engine.io"
import { checkPayloads } from "../internals.ts"

const packetSeparator = "\u001e"

/** Packets per payload. One payload is handled in one tick; more packets than this exceed the rate limit anyway. */
const maxPacketsPerPayload = 16 * 1024

const hasAcceptableCount = (payload: string): boolean => {
  let count = 1
  for (let at = payload.indexOf(packetSeparator); at !== -1; at = payload.indexOf(packetSeparator, at + 1)) count += 1
  return count <= maxPacketsPerPayload
}

/** Closes a connection that polls and sends too many packets at once. */
export const limitPacketsPerPayload = (transport: Transport): void =>
  checkPayloads(transport, hasAcceptableCount, "too_many_packets")
