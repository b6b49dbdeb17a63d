import { Duration, Effect } from "effect"
import { type HttpKind, startHttpPeers } from "../live/httpPeers.ts"
import { openMcpOffice } from "../live/McpOffice.ts"
import type { Surface } from "../Surface.ts"
import { answers, mcpWords, sayings } from "./mcpCorpus.ts"

/** Servers with the streamable and the SSE transport. */
const kinds: ReadonlyArray<readonly [name: string, kind: HttpKind]> = [
  ["malicious-0", "streamable"],
  ["malicious-1", "sse"],
  ["malicious-2", "streamable"],
  ["malicious-3", "sse"],
  ["malicious-4", "streamable"],
  ["malicious-5", "streamable"]
]

/** How long to wait for replies: over HTTP there may be none. */
const timeouts = {
  answer: Duration.millis(400),
  session: Duration.millis(1500),
  windows: Duration.seconds(3)
}

/** Timeouts of the servers: longer than every wait of the test. */
const serverTimeouts = {
  streamable: { timeout: "PT2S", sse_read_timeout: "PT5S" },
  sse: { timeout: 2, sse_read_timeout: 5 }
}

const head = (status: string, headers: { readonly [name: string]: string } = {}): string =>
  `HTTP/1.1 ${status}\r\n${Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("")}\r\n`

const json = { "Content-Type": "application/json", "Mcp-Session-Id": "session" }
const events = { "Content-Type": "text/event-stream" }

const [[, answer] = ["call", ""]] = answers.filter(([moment]) => moment === "call")

/** Wrong response heads, each before a correct body. */
const heads: ReadonlyArray<string> = [
  head("200 OK", { ...json, "Content-Length": "5" }),
  head("200 OK", { ...json, "Content-Length": "100000" }),
  head("200 OK", { ...json, "Transfer-Encoding": "chunked" }),
  head("200 OK", { ...json, "Content-Encoding": "gzip" }),
  head("200 OK", { "Content-Type": "text/html" }),
  head("200 OK", { "Content-Type": "application/json; charset=utf-16" }),
  head("200 OK"),
  head("202 Accepted"),
  head("204 No Content"),
  head("206 Partial Content", json),
  head("299 Odd", json),
  head("302 Found", { Location: "/malicious-0" }),
  head("307 Temporary Redirect", { Location: "?again" }),
  head("308 Permanent Redirect", { Location: "http://127.0.0.1:9/elsewhere" }),
  head("400 Bad Request", json),
  head("401 Unauthorized", { "WWW-Authenticate": 'Bearer resource_metadata="http://127.0.0.1:9/x"' }),
  head("403 Forbidden", { "WWW-Authenticate": 'Bearer error="insufficient_scope", scope="a"' }),
  head("404 Not Found"),
  head("405 Method Not Allowed"),
  head("429 Too Many Requests", { "Retry-After": "-1" }),
  head("500 Internal Server Error", json),
  head("101 Switching Protocols", { Connection: "Upgrade", Upgrade: "websocket" }),
  `${head("100 Continue")}${head("200 OK", json)}`,
  `${head("103 Early Hints", { Link: "<x>" })}${head("200 OK", json)}`,
  head("200 OK", { ...json, "Mcp-Session-Id": "\u00ff" }),
  head("200 OK", { ...json, ...Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`X-${n}`, "y"])) }),
  head("200 OK", { ...json, "Set-Cookie": "a=b; Path=/", "X-Long": "z".repeat(9000) }),
  "HTTP/1.0 200 OK\r\n\r\n",
  "HTTP/9.9 999 \r\n\r\n",
  "ICY 200 OK\r\n\r\n"
]

/** Event streams: truncated, resumable, and with a wrong type. */
const streams: ReadonlyArray<string> = [
  `id: 1\nretry: 1000\ndata:\n\ndata: ${answer}\n\n`,
  `id: 1\nretry: 0\n\n`,
  `event: message\ndata: ${answer.slice(0, 40)}\ndata: ${answer.slice(40)}\n\n`,
  `event: endpoint\ndata: http://127.0.0.1:9/elsewhere\n\n`,
  `event: endpoint\ndata: //\n\n`,
  `:comment\r\r\ndata\rdata: {}\r\r`,
  `\ufeffdata: ${answer}\n\ndata: ${answer}\n\n`,
  sayings.map((saying) => `data: ${saying}\n\n`).join(""),
  `data: ${answer}`
]

/** HTTP responses and event streams of MCP servers. */
export const httpSurface: Surface = {
  name: "http",
  about: "HTTP responses of MCP servers to a Computer in an office, next to a correct server",
  weight: 0.5,
  lanes: kinds.length,
  corpus: [
    ...answers.map(([moment, message]) => `${moment} ${head("200 OK", json)}${message}`),
    ...answers.map(([moment, message]) => `${moment} ${head("200 OK", events)}data: ${message}\n\n`),
    ...heads.map((one) => `call ${one}${answer}`),
    ...heads.map((one) => `hello ${one}${answer}`),
    ...heads.map((one) => `listen ${one}`),
    ...heads.slice(0, 20).flatMap((one) => [`accept ${one}`, `leave ${one}`, `tools ${one}${answer}`]),
    ...streams.flatMap((one) =>
      ["call", "hello", "listen"].map((moment) => `${moment} ${head("200 OK", events)}${one}`)
    ),
    ...streams.map((one) => `say ${one}`),
    ...sayings.map((saying) => `say data: ${saying}\n\n`)
  ].map((one) => Buffer.from(one, "latin1")),
  words: [
    mcpWords,
    ["\r\n", "\r\n\r\n", "\n\n"],
    ["data: ", "event: message\n", "event: endpoint\n"],
    ["id: 7\n", "id: \u0000\n", "retry: 0\n", "retry: 99999999999\n"],
    ["Content-Type: text/event-stream\r\n", "Content-Type: application/json\r\n"],
    ["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n"],
    ["Mcp-Session-Id: other\r\n", "Location: /malicious-1\r\n"],
    ["5\r\nhello\r\n0\r\n\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404 Not Found\r\n"]
  ].flat(),
  longest: 40 * 1024,
  open: (note) =>
    Effect.gen(function* () {
      const started = yield* startHttpPeers(kinds)
      const maliciousServers = started.map(({ peer, url }, index) => {
        const kind = kinds[index]?.[1] ?? "streamable"
        return { peer, config: { type: kind, server_parameters: { url, ...serverTimeouts[kind] } } }
      })
      return yield* openMcpOffice(note, { maliciousServers, isLasting: false, timeouts })
    })
}
