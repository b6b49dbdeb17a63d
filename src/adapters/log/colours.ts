const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const

export type Colour = keyof typeof codes

const isSet = (value: string | undefined): boolean => value !== undefined && value !== ""

const isColourful = (stream: { readonly isTTY?: boolean } | undefined): boolean => {
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = globalThis.process?.env ?? {}
  if (isSet(no) || force === "0" || force === "false") return false
  return isSet(force) || (stream?.isTTY === true && term !== "dumb")
}

/** Makes a function that colours text for a stream: a terminal unless `NO_COLOR` is set, any with `FORCE_COLOR`. */
export const makePaint = (
  stream: { readonly isTTY?: boolean } | undefined
): ((colour: Colour, text: string) => string) =>
  isColourful(stream) ? (colour, text) => `\u001b[${codes[colour]}m${text}\u001b[0m` : (_colour, text) => text
