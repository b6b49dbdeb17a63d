import type { FrameLimits } from "../../../src/domain/devices/framing/frame.ts"

/** Events of a whole stream, and whether it ends with a partial frame. */
export interface Reading {
  /** In the format of `full` in streams.ts. */
  readonly events: ReadonlyArray<string>
  readonly incomplete: boolean
}

// oxlint-disable-next-line no-control-regex -- types are control characters
const header = /^##START[\u0001-\u0009][ -~]{8}(?:[0-9]{4}|\[[0-9]{4}\])/
const maxHeader = "##STARTtabcdefgh[0000]".length

/** True when more bytes can complete a header. */
const viable = (text: string): boolean =>
  ["##START\u0001abcdefgh0000", "##START\u0001abcdefgh[0000]"].some((rest) =>
    header.test(text + rest.slice(text.length))
  )

const unfinished = (text: string, whole: string): boolean => text.length < whole.length && whole.startsWith(text)

type Place = "plain" | "outside" | "inside" | "escaped" | "naive"
type Meaning = "end" | "start" | "open" | "content"

/** Meaning of a `#`, by the bytes that follow it. */
const meaningOf = (text: string, place: Place): Meaning => {
  if (place !== "inside" && place !== "escaped") {
    if (text.startsWith("##END")) return "end"
    if (unfinished(text, "##END")) return "open"
  }
  switch (place) {
    case "naive":
      return "content"
    case "plain":
      if (text.slice(8, 16).includes("##END")) return "content"
      if (header.test(text)) return "start"
      return text.length < maxHeader && viable(text) ? "open" : "content"
    case "outside":
      if (text.startsWith("##START")) return "start"
      return unfinished(text, "##START") ? "open" : "content"
    case "inside":
    case "escaped":
      if (text.startsWith("##START") && header.test(`${text.slice(0, 8)}abcdefgh0000`)) return "start"
      return unfinished(text, "##START") || text === "##START" ? "open" : "content"
  }
}

const placeAfter = (place: Place, character: string): Place => {
  if (place === "plain" || place === "naive") return place
  if (place === "outside") return character === '"' ? "inside" : "outside"
  if (character < " ") return "plain"
  if (place === "escaped") return "inside"
  if (character === "\\") return "escaped"
  return character === '"' ? "outside" : "inside"
}

/**
 * Reference decoder for a complete stream, one character per byte: the rules of the decoder in their simplest form,
 * regardless of speed, chunks and memory.
 */
export const readAtOnce = (stream: string, limits: FrameLimits, framing: "strict" | "naive" = "strict"): Reading => {
  const events: Array<string> = []
  let garbage = 0
  let at = 0
  const giveUp = (reason: string, searchOn: number) => {
    events.push(`B(${reason})`)
    garbage += searchOn - at
    at = searchOn
  }
  for (;;) {
    const found = stream.indexOf("##START", at)
    if (found === -1) return { events, incomplete: false }
    garbage += found - at
    at = found
    const [head] = header.exec(stream.slice(at, at + maxHeader)) ?? []
    if (head === undefined) {
      if (viable(stream.slice(at, at + maxHeader))) return { events, incomplete: true }
      giveUp("invalid_header", at + 7)
      continue
    }
    const type = head.charCodeAt(7)
    const limit = type === 2 ? limits.maxAudioPayloadBytes : limits.maxPayloadBytes
    const payload = at + head.length
    let place: Place = [6, 8, 9].includes(type) ? "outside" : "plain"
    if (framing === "naive") place = "naive"
    let meaning: Meaning = "content"
    let next = payload
    for (; next <= payload + limit && meaning === "content"; next++) {
      if (next >= stream.length) return { events, incomplete: true }
      const character = stream.charAt(next)
      if (character === "#") meaning = meaningOf(stream.slice(next, next + maxHeader), place)
      place = placeAfter(place, character)
    }
    if (meaning === "open") return { events, incomplete: true }
    if (meaning === "content") giveUp("too_large", next)
    else if (meaning === "start") giveUp("unterminated", next - 1)
    else {
      const text = stream.slice(payload, next - 1)
      if (garbage > 0) events.push(`G(${garbage})`)
      events.push(`F(${type},${head.slice(8, 16).trimEnd()},${head.slice(16)},${text.length})${text}`)
      garbage = 0
      at = next + 4
    }
  }
}
