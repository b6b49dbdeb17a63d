import { Effect } from "effect"
import { requestOf, sendRequest } from "../live/rawHttp.ts"
import { openSite } from "../live/Site.ts"
import type { Surface } from "../Surface.ts"

const polling = "/smcp/?EIO=4&transport=polling&a2c_version=0.2.0"
const webSocket = "/smcp/?EIO=4&transport=websocket&a2c_version=0.2.0"

const upgrading = {
  Connection: "Upgrade",
  Upgrade: "websocket",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="
}

/** Handshake attempts over plain HTTP. */
export const handshakeSurface: Surface = {
  name: "handshakes",
  about: "handshakes of a live Server: URLs, queries and headers over plain HTTP",
  weight: 1.5,
  lanes: 8,
  corpus: [
    requestOf(`GET ${polling}`),
    requestOf(`GET ${polling}&j=0`, { Origin: "http://127.0.0.1", Cookie: "io=x", Accept: "*/*" }),
    requestOf(`GET ${polling}&sid=AAAAAAAAAAAAAAAAAAAA`),
    requestOf(`POST ${polling}&sid=AAAAAAAAAAAAAAAAAAAA`, { "Content-Type": "text/plain" }, "40/smcp,{}"),
    requestOf(`GET ${webSocket}`, upgrading),
    requestOf(`GET ${webSocket}`, { ...upgrading, "Sec-WebSocket-Extensions": "permessage-deflate" }),
    requestOf(`GET ${webSocket}&sid=x`, { ...upgrading, Origin: "http://evil.test" }),
    requestOf(`OPTIONS ${polling}`, { Origin: "http://a.test", "Access-Control-Request-Method": "POST" }),
    requestOf("GET /smcp?EIO=3&transport=polling&a2c_version=0.2.0"),
    requestOf("GET /healthz"),
    requestOf("GET /readyz"),
    requestOf("GET /metrics", { "X-API-Key": "key" }),
    requestOf("GET /status", { Authorization: "Bearer token" }),
    requestOf("HEAD /"),
    Buffer.concat([requestOf(`GET ${polling}`), requestOf("GET /healthz")])
  ],
  words: [
    ["a2c_version=", "&a2c_version=0.3.0", "0.2.0"],
    ["EIO=", "transport=", "websocket", "polling", "webtransport"],
    ["__proto__", "constructor"],
    ["&sid=", "sid[]="],
    ["%00", "%", "%ff"],
    ["\r\n", "\n", ": "],
    ["Transfer-Encoding: chunked\r\n", "Content-Length: 99999999\r\n", "Expect: 100-continue\r\n"],
    ["Upgrade: h2c\r\n", "Connection: keep-alive, Upgrade\r\n", "Host: \r\n"],
    ["Origin: null\r\n", "Sec-WebSocket-Version: 99\r\n"],
    ["Sec-WebSocket-Key: x\r\n", "Sec-WebSocket-Protocol: a, b\r\n"],
    ["0\r\n\r\n", "//", "/../", "http://other.test", "*"],
    ["HTTP/1.0", "HTTP/2.0", "\u0000"]
  ].flat(),
  longest: 20 * 1024,
  open: (note) =>
    Effect.map(openSite(note), ({ begin, finish, settle, url }) => ({
      feed: (input) => sendRequest(url, input),
      begin,
      settle,
      finish
    }))
}
