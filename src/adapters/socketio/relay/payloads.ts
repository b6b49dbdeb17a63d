/** Separates the packets of a payload of Engine.IO. */
const separator = Buffer.from([0x1e])

/** Packets per payload. One payload is handled in one tick; more packets than this exceed the rate limit anyway. */
export const maxPacketsPerPayload = 16 * 1024

/** The packets of a payload, at most one more than allowed. */
export const splitPayload = (payload: Buffer): ReadonlyArray<Buffer> => {
  const packets: Array<Buffer> = []
  let from = 0
  while (packets.length < maxPacketsPerPayload) {
    const to = payload.indexOf(separator, from)
    if (to === -1) break
    packets.push(payload.subarray(from, to))
    from = to + 1
  }
  packets.push(payload.subarray(from))
  return packets
}

/** A payload of packets, each in one buffer or more. */
export const joinPayload = (packets: ReadonlyArray<ReadonlyArray<Buffer>>): Buffer =>
  Buffer.concat(packets.flatMap((parts, index) => (index === 0 ? parts : [separator, ...parts])))
