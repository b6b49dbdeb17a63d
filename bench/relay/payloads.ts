/** What is sent in the calls of a case: the text of JSON objects. */
export interface Payload {
  /** The `params` of a call. */
  readonly params: string
  /** The CallToolResult of a Computer, which names its pair so that a mixed-up answer is noticed. */
  readonly result: (pair: number) => string
}

const sentence = "The quick brown fox jumps over the lazy dog, and nothing in it needs an escape. "

const prose = (length: number) => sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length)

const textResult = (text: string) => JSON.stringify({ content: [{ type: "text", text }], isError: false })

const smallParams = JSON.stringify({ path: "/notes/today.md", line: 12, deep: { quoted: true } })

/** A result of one text that is so long. */
export const text = (bytes: number): Payload => {
  const body = prose(bytes)
  return { params: smallParams, result: (pair) => textResult(`pair ${pair}: ${body}`) }
}

/** A result of so many bytes in many small objects, which cost a parser the most. */
export const objects = (bytes: number): Payload => {
  const item = (line: number) => ({ type: "text", text: `line ${line} of the result` })
  const items = Array.from({ length: Math.ceil(bytes / JSON.stringify(item(1000)).length) }, (_, line) =>
    item(line)
  )
  return {
    params: smallParams,
    result: (pair) =>
      JSON.stringify({ content: [{ type: "text", text: `pair ${pair}` }, ...items], isError: false })
  }
}

/** A call whose parameters are so long, with a short result. */
export const request = (bytes: number): Payload => ({
  params: JSON.stringify({ path: "/notes/today.md", text: prose(bytes) }),
  result: (pair) => textResult(`pair ${pair}: written`)
})
