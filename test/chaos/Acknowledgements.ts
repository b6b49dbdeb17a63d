/** Opcode of a text frame. */
const textFrame = 1

/** Inspected bytes of a message: `43/smcp,`, the id of a request, and `[`. */
const lookedAt = 32

const acknowledgement = /^43\/smcp,(\d+)\[/

/** Lengths of the head and the content of an unmasked frame; undefined while the head is incomplete. */
const lengthsOf = (bytes: Buffer): { readonly head: number; readonly content: number } | undefined => {
  if (bytes.length < 2) return undefined
  const short = (bytes[1] ?? 0) & 0x7f
  if (short < 126) return { head: 2, content: short }
  const head = short === 126 ? 4 : 10
  if (bytes.length < head) return undefined
  return { head, content: short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2)) }
}

/**
 * Watches the bytes of a Server to one Agent and reports each request that is acknowledged twice, which clients do
 * not notice. Only WebSocket is parsed, which carries nearly everything; the Servers do not compress it.
 */
export const watchAcknowledgements = (twice: (request: string) => void): ((chunk: Buffer) => void) => {
  const seen = new Set<string>()
  let unread: Buffer = Buffer.alloc(0)
  /** Bytes of a frame that are skipped. */
  let skipped = 0
  let state: "head" | "frames" | "other" = "head"

  const note = (text: string) => {
    const request = acknowledgement.exec(text)?.[1]
    if (request === undefined) return
    if (seen.has(request)) twice(request)
    seen.add(request)
  }

  /** Parses one frame; false when it is incomplete. */
  const readFrame = (): boolean => {
    const lengths = lengthsOf(unread)
    if (lengths === undefined) return false
    const { content, head } = lengths
    const needed = head + Math.min(content, lookedAt)
    if (unread.length < needed) return false
    if (((unread[0] ?? 0) & 0x0f) === textFrame) note(unread.toString("latin1", head, needed))
    skipped = head + content
    return true
  }

  const readHead = () => {
    const end = unread.indexOf("\r\n\r\n")
    if (end < 0) return
    state = unread.toString("latin1", 0, 12) === "HTTP/1.1 101" ? "frames" : "other"
    unread = unread.subarray(end + 4)
  }

  return (chunk) => {
    if (state === "other") return
    unread = unread.length === 0 ? chunk : Buffer.concat([unread, chunk])
    if (state === "head") readHead()
    while (state === "frames" && unread.length > 0) {
      const skip = Math.min(skipped, unread.length)
      unread = unread.subarray(skip)
      skipped -= skip
      if (skipped > 0 || !readFrame()) return
    }
  }
}
