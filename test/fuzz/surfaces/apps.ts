import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { isJsonObject, parseJson } from "../../../src/domain/json.ts"
import { formatAppDomains, formatAppPolicy, parseAppDomains } from "../../../src/domain/page/apps/appDomains.ts"
import { parseAppMessage } from "../../../src/domain/page/apps/appMessages.ts"
import { findApp, parseAppContent } from "../../../src/domain/page/apps/findApp.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"
import { textIn } from "./textIn.ts"

const page = "https://office.example"
const directives = formatAppPolicy(parseAppDomains({}), page).split("; ").length

const feed = (input: Buffer): Verdict => {
  const text = textIn(input)
  const value = parseJson(text)
  const domains = parseAppDomains(value)
  must(isDeepStrictEqual(parseAppDomains(formatAppDomains(domains)), domains), "domains change in a round trip")
  const policy = formatAppPolicy(parseAppDomains({ connectDomains: [text], resourceDomains: [text] }), page)
  must(policy.split("; ").length === directives, "a domain adds a directive")
  must(!/\*(?!\.)|[\r\n]/.test(policy), "a domain is too wide")
  if (isJsonObject(value)) {
    const app = findApp(value, "show")
    must(app === undefined || app.uri.startsWith("ui://"), "an app has another scheme")
    app?.toComputerUri(text)
    parseAppContent(value, () => undefined)
  }
  const message = parseAppMessage(text)
  if (message === undefined) return "refused"
  must("id" in message ? ["string", "number"].includes(typeof message.id) : true, "an id is neither text nor number")
  return "accepted"
}

/** Messages of apps, and what their MCP servers declare. */
export const appSurface: Surface = {
  name: "apps",
  about: "messages and domains of apps on the office page",
  weight: 6,
  lanes: 1,
  corpus: [
    '{"jsonrpc":"2.0","id":1,"method":"ui/initialize","params":{"protocolVersion":"2026-01-26"}}',
    '{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"height":100}}',
    '{"jsonrpc":"2.0","id":"a","result":{}}',
    '{"connectDomains":["https://a.example","wss://*.b.example:443"],"frameDomains":[]}',
    '{"servers":[{"id":"a","tools":[{"name":"show","details":{"_meta":{"ui":{"resourceUri":"ui://x/y"}}}}]}]}',
    '{"contents":[{"mimeType":"text/html;profile=mcp-app","text":"<p>","_meta":{"ui":{"csp":{}}}}]}',
    "https://a.example"
  ].map((text) => Buffer.from(text)),
  words: [
    "*",
    ";",
    " ",
    "'",
    "https://",
    "wss://",
    "ui://",
    "ui/",
    "sandbox-",
    '"id":',
    "null",
    "[]",
    "{}",
    "\\ud800",
    "__proto__"
  ],
  longest: 8192,
  open: () => Effect.succeed(pure(feed))
}
