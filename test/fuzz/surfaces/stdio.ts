import { type Stranger, openMcpOffice } from "../live/McpOffice.ts"
import { makeStdioPeer } from "../live/stdioPeer.ts"
import type { Surface } from "../Surface.ts"
import { answers, mcpWords, sayings } from "./mcpCorpus.ts"

const lanes = 4

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

/** Pings of a flood, all of which are answered. */
const flood = 500

const strangerOf = (lane: number): Stranger => {
  const name = `stranger-${lane}`
  return {
    peer: makeStdioPeer(name),
    config: { type: "stdio", server_parameters: { command: "x", args: [name] } }
  }
}

/** What MCP servers write to their standard output, and what they answer. */
export const stdioSurface: Surface = {
  name: "stdio",
  about: "what MCP servers write to their output, at a Computer in an office, beside a server that works",
  weight: 2,
  lanes,
  corpus: [
    ...answers.map(([moment, message]) => `${moment} ${message}`),
    ...sayings.map((message) => `say ${message}`),
    `say ${sayings.join("\n")}`,
    `say ${`${ping}\n`.repeat(flood)}`,
    "say Listening on stdin\r\n\r\n\u0000",
    "say Content-Length: 2\r\n\r\n{}"
  ].map((text) => Buffer.from(text)),
  words: [...mcpWords, "\n", "\r\n", "say ", `${ping}\n`, Buffer.from("ff", "hex")],
  longest: 40 * 1024,
  open: (note) =>
    openMcpOffice(note, {
      strangers: Array.from({ length: lanes }, (_, lane) => strangerOf(lane)),
      lasts: true
    })
}
