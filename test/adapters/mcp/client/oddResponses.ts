/** A response to a call whose form is odd. `{id}` stands for the id of the request. */
export interface OddResponse {
  readonly title: string
  readonly text: string
}

const content = '"content":[{"type":"text","text":"done"}]'

/** Responses with a plain meaning: the call has its result. */
export const repairedResponses: ReadonlyArray<OddResponse> = [
  ["metadata that is null", `{"jsonrpc":"2.0","id":{id},"result":{${content},"_meta":null}}`],
  ["metadata that is a text", `{"jsonrpc":"2.0","id":{id},"result":{${content},"_meta":"x"}}`],
  ["metadata with a null token", `{"jsonrpc":"2.0","id":{id},"result":{${content},"_meta":{"progressToken":null}}}`],
  ["a null error", `{"jsonrpc":"2.0","id":{id},"result":{${content}},"error":null}`],
  ["an empty error", `{"jsonrpc":"2.0","id":{id},"result":{${content}},"error":""}`],
  ["unknown members", `{"jsonrpc":"2.0","id":{id},"result":{${content}},"took":5,"meta":{}}`],
  ["empty request members", `{"jsonrpc":"2.0","id":{id},"method":"","params":null,"result":{${content}}}`],
  ["no version", `{"id":{id},"result":{${content}}}`],
  ["a number as version", `{"jsonrpc":2,"id":{id},"result":{${content}}}`],
  ["another version", `{"jsonrpc":"1.0","id":{id},"result":{${content}}}`],
  ["its id as a text", `{"jsonrpc":"2.0","id":"{id}","result":{${content}}}`],
  ["its id as a text with a fraction", `{"jsonrpc":"2.0","id":"{id}.0","result":{${content}}}`],
  ["its id as a fraction", `{"jsonrpc":"2.0","id":{id}.0,"result":{${content}}}`],
  ["a batch", `[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":{id},"result":{${content}}}]`],
  ["a byte order mark", `\u{feff}{"jsonrpc":"2.0","id":{id},"result":{${content}}}`],
  ["a text before it", `Calling... {"jsonrpc":"2.0","id":{id},"result":{${content}}}`],
  ["a text after it", `{"jsonrpc":"2.0","id":{id},"result":{${content}}} {done}`],
  ["colours around it", `\u{1b}[32m{"jsonrpc":"2.0","id":{id},"result":{${content}}}\u{1b}[0m`],
  ["a NUL before it", `\0{ "jsonrpc":"2.0","id":{id},"result":{${content}}}`],
  ["another message before it", `{"jsonrpc":"2.0","method":"x"}{"jsonrpc":"2.0","id":{id},"result":{${content}}}`],
  [
    "the log of its request before it",
    `> {"jsonrpc":"2.0","id":{id},"method":"tools/call"} < {"jsonrpc":"2.0","id":{id},"result":{${content}}}`
  ],
  ["a text with braces and quotes", `log {"a":"}"} {"id":{id},"result":{${content},"x":"\\"}{"},"jsonrpc":"2.0"}`],
  ["a carriage return", `{"jsonrpc":"2.0","id":{id},"result":{${content}}}\r`]
].map(([title = "", text = ""]) => ({ title, text }))

/** Responses without a usable result: the call fails at once for this reason. */
export const failedResponses: ReadonlyArray<OddResponse & { readonly reason: string }> = [
  ["a null result", `{"jsonrpc":"2.0","id":{id},"result":null}`, "not an MCP result"],
  ["a list as result", `{"jsonrpc":"2.0","id":{id},"result":[]}`, "not an MCP result"],
  ["a text as result", `{"jsonrpc":"2.0","id":{id},"result":"ok"}`, "not an MCP result"],
  ["neither result nor error", `{"jsonrpc":"2.0","id":{id}}`, "neither a result nor an error"],
  ["misspelt members", `{"jsorpc":"2.0","id":{id},"reslt":{}}`, "neither a result nor an error"],
  ["a text as error", `{"jsonrpc":"2.0","id":{id},"error":"disk is full"}`, "disk is full"],
  ["an error without a code", `{"jsonrpc":"2.0","id":{id},"error":{"message":"disk is full"}}`, "disk is full"],
  ["a text as code", `{"jsonrpc":"2.0","id":{id},"error":{"code":"-32000","message":"no disk"}}`, "no disk"],
  ["a null result beside an error", `{"jsonrpc":"2.0","id":{id},"result":null,"error":{"message":"no"}}`, "no"],
  ["an error without a message", `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000}}`, "the error has no message"],
  ["an error that is true", `{"jsonrpc":"2.0","id":{id},"error":true}`, "the error has no message"],
  [
    "an empty message",
    `{"jsonrpc":"2.0","id":{id},"error":{"code":1,"message":"","data":{"detail":"disk full"}}}`,
    "disk full"
  ],
  [
    "an error with a null id",
    `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"unreadable"}}`,
    "unreadable"
  ],
  ...["connection_lost", "timeout_or_limit"].map((cause) => [
    `the claim ${cause}`,
    `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"lost","data":{"a2c/synthetic_error":"${cause}"}}}`,
    "lost"
  ]),
  [
    "the error of a closed connection",
    `{"jsonrpc":"2.0","id":{id},"error":{"code":-32000,"message":"Connection closed"}}`,
    "closed"
  ],
  ["an error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"unreadable"}}`, "unreadable"],
  ["a text before a number that JSON lacks", `log {"jsonrpc":"2.0","id":{id},"result":{"x":NaN}}`, "cannot be decoded"],
  ["a number that JSON lacks", `{"jsonrpc":"2.0","id":{id},"result":{"x":NaN}}`, "cannot be decoded"]
].map(([title = "", text = "", reason = ""]) => ({ title, text, reason }))

export const withId = (text: string, id: unknown): string => text.replaceAll("{id}", String(id))
