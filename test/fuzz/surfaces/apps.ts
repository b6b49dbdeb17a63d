import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import { asObject, isJsonObject, type JsonObject, parseJson } from "../../../src/domain/json.ts"
import { formatAppPolicy, parseAppDomains } from "../../../src/domain/page/apps/appDomains.ts"
import { parseAppMessage } from "../../../src/domain/page/apps/appMessages.ts"
import { findApp, parseAppContent } from "../../../src/domain/page/apps/findApp.ts"
import { findProblems, initialValue } from "../../../src/domain/schemas/formValue.ts"
import { formOfSchema } from "../../../src/domain/schemas/schemaForm.ts"
import { completionsIn, messagesIn, promptsIn } from "../../../src/domain/page/prompts.ts"
import { withOfficeUris } from "../../../src/domain/office/rewriteUris.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"
import { textIn } from "./textIn.ts"

const page = "https://office.example"
const directives = formatAppPolicy(parseAppDomains({}), page).split("; ").length

/** The prompts that an MCP server lists, their forms, and what it replies. */
const feedPrompts = (value: JsonObject): void => {
  for (const { argumentsSchema, name } of promptsIn(value)) {
    must(typeof name === "string", "a prompt has no name")
    const form = formOfSchema(argumentsSchema)
    const args = initialValue(form)
    findProblems(form, args)
    must(
      Object.values(asObject(args)).every((arg) => arg === undefined || typeof arg === "string"),
      "an argument of a prompt is no text"
    )
  }
  must(
    messagesIn(value).every(({ content }) => isJsonObject(content)),
    "a message has no content"
  )
  must(completionsIn(value).length <= 100, "more than a hundred values")
}

const feed = (input: Buffer): Verdict => {
  const text = textIn(input)
  const value = parseJson(text)
  const domains = parseAppDomains(value)
  must(isDeepStrictEqual(parseAppDomains(domains), domains), "domains change in a round trip")
  const policy = formatAppPolicy(parseAppDomains({ connectDomains: [text], resourceDomains: [text] }), page)
  must(policy.split("; ").length === directives, "a domain adds a directive")
  must(!/\*(?!\.)|[\r\n]/.test(policy), "a domain is too wide")
  if (isJsonObject(value)) {
    const app = findApp(value, "show")
    must(app === undefined || app.uri.startsWith("ui://"), "an app has another scheme")
    app?.toComputerUri(text)
    parseAppContent(value, () => undefined)
    feedPrompts(value)
    withOfficeUris(value, { computer: "desk", server: "draw" })
  }
  const message = parseAppMessage(text)
  if (message === undefined) return "refused"
  must(["string", "number", "undefined"].includes(typeof message.id), "an id is neither text nor number")
  return "accepted"
}

/** Messages of apps, what their MCP servers declare, and prompts. */
export const appSurface: Surface = {
  name: "apps",
  about: "messages and domains of apps, and prompts, on the office page",
  weight: 6,
  lanes: 1,
  corpus: [
    '{"jsonrpc":"2.0","id":1,"method":"ui/initialize","params":{"protocolVersion":"2026-01-26"}}',
    '{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"height":100}}',
    '{"jsonrpc":"2.0","id":"a","result":{}}',
    '{"connectDomains":["https://a.example","wss://*.b.example:443"],"frameDomains":[]}',
    '{"servers":[{"id":"a","tools":[{"name":"show","details":{"_meta":{"ui":{"resourceUri":"ui://x/y"}}}}]}]}',
    '{"contents":[{"mimeType":"text/html;profile=mcp-app","text":"<p>","_meta":{"ui":{"csp":{}}}}]}',
    '{"servers":[{"id":"a","completions":true,"prompts":[{"name":"p","arguments":[{"name":"x","required":true}]}]}]}',
    '{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"completion":{"values":["a","b"]}}',
    '{"content":[{"type":"resource_link","uri":"note://1"},{"type":"resource","resource":{"uri":"ui://a"}}]}',
    "https://a.example"
  ].map((text) => Buffer.from(text)),
  words: [
    ["*", ";", " ", "'"],
    ["https://", "wss://", "ui://", "ui/", "sandbox-"],
    ['"id":', "null", "[]", "{}"],
    ["\\ud800", "__proto__"]
  ].flat(),
  longest: 8192,
  open: () => Effect.succeed(pure(feed))
}
