/** The payloads of a case as JSON text. */
export interface Payload {
  /** The `params` of a call. */
  readonly params: string
  /** The CallToolResult of a Computer. It names its pair, which reveals mixed-up replies. */
  readonly result: (pair: number) => string
}

const sentence = "The quick brown fox jumps over the lazy dog, and nothing in it needs an escape. "

const prose = (length: number) => sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length)

const textResult = (text: string) => JSON.stringify({ content: [{ type: "text", text }], isError: false })

const smallParams = JSON.stringify({ path: "/notes/today.md", line: 12, deep: { quoted: true } })

/** A result with one text of this length. */
export const text = (bytes: number): Payload => {
  const body = prose(bytes)
  return { params: smallParams, result: (pair) => textResult(`pair ${pair}: ${body}`) }
}

/** A result of this size in many small objects, the most expensive form for a parser. */
export const objects = (bytes: number): Payload => {
  const item = (line: number) => ({ type: "text", text: `line ${line} of the result` })
  const items = Array.from({ length: Math.ceil(bytes / JSON.stringify(item(1000)).length) }, (_, line) => item(line))
  return {
    params: smallParams,
    result: (pair) => JSON.stringify({ content: [{ type: "text", text: `pair ${pair}` }, ...items], isError: false })
  }
}

/** A call with parameters of this length and a short result. */
export const request = (bytes: number): Payload => ({
  params: JSON.stringify({ path: "/notes/today.md", text: prose(bytes) }),
  result: (pair) => textResult(`pair ${pair}: written`)
})
