import { type MaliciousServer, openMcpOffice } from "../live/McpOffice.ts"
import { makeStdioPeer } from "../live/stdioPeer.ts"
import type { Surface } from "../Surface.ts"
import { answers, mcpWords, sayings } from "./mcpCorpus.ts"

const lanes = 4

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

/** The number of pings in a flood; each has a reply. */
const flood = 500

const maliciousServerOf = (lane: number): MaliciousServer => {
  const name = `malicious-${lane}`
  return {
    peer: makeStdioPeer(name),
    config: { type: "stdio", server_parameters: { command: "x", args: [name] } }
  }
}

/** Output and replies of MCP servers over stdio. */
export const stdioSurface: Surface = {
  name: "stdio",
  about: "output of MCP servers to a Computer in an office, next to a correct server",
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
      maliciousServers: Array.from({ length: lanes }, (_, lane) => maliciousServerOf(lane)),
      isLasting: true
    })
}
