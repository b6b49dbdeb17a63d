const code = { quote: 0x22, backslash: 0x5c, openBrace: 0x7b, closeBrace: 0x7d, openBracket: 0x5b, closeBracket: 0x5d }

/** Where a text of JSON stands: `other` for a text that is not one object or list. */
type JsonState = "blank" | "open" | "open_string" | "complete" | "other"

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

export interface JsonNesting {
  readonly push: (piece: Uint8Array) => JsonState
  /** A nesting that continues here. */
  readonly fork: () => JsonNesting
}

/** Follows the nesting of a JSON object or list in pieces, each byte once. The encoding must contain ASCII. */
export const makeJsonNesting = (
  start: { depth: number; isEscaped: boolean; isInString: boolean; state: Exclude<JsonState, "open_string"> } = {
    depth: 0,
    isEscaped: false,
    isInString: false,
    state: "blank"
  }
): JsonNesting => {
  let { depth, isEscaped, isInString, state } = start

  /** The index after the string that is open, or the end of the piece. */
  const skipString = (piece: Uint8Array, start: number): number => {
    let at = start
    while (at < piece.length) {
      const byte = piece[at++]
      if (isEscaped) isEscaped = false
      else if (byte === code.backslash) isEscaped = true
      else if (byte === code.quote) {
        isInString = false
        break
      }
    }
    return at
  }
  const take = (byte: number): void => {
    const isOpening = byte === code.openBrace || byte === code.openBracket
    if (state === "open") {
      if (byte === code.quote) isInString = true
      else if (isOpening) depth += 1
      else if (byte === code.closeBrace || byte === code.closeBracket) depth -= 1
      if (depth === 0) state = "complete"
    } else if (!isBlank(byte)) {
      depth = 1
      state = state === "blank" && isOpening ? "open" : "other"
    }
  }

  return {
    push: (piece) => {
      let at = 0
      while (at < piece.length && state !== "other") {
        if (isInString) at = skipString(piece, at)
        else take(piece[at++] ?? 0)
      }
      return isInString ? "open_string" : state
    },
    fork: () => makeJsonNesting({ depth, isEscaped, isInString, state })
  }
}
