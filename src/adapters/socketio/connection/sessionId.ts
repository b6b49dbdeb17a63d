import { randomFillSync } from "node:crypto"

/** Bytes of an id: 120 bits, too many to guess. */
const idBytes = 15

const pool = Buffer.alloc(256 * idBytes)
let used = pool.length

/** Makes a random id of 20 characters, as Socket.IO does. A UUID of Node is built of parts that stay in memory. */
export const makeSessionId = (): string => {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  used += idBytes
  return pool.toString("base64url", used - idBytes, used)
}
