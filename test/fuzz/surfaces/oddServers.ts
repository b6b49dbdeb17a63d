import { Effect } from "effect"
import { isJsonObject } from "../../../src/domain/json.ts"
import { errorsTo } from "../live/errors.ts"
import { idWord } from "../live/mcpPeer.ts"
import { type Host, type OddOffice, openOddOffice } from "../live/OddOffice.ts"
import { type List, lists, noticeOf, type OddServer, plainUri } from "../live/oddServer.ts"
import { until } from "../live/wait.ts"
import { mutateTree } from "../mutateTree.ts"
import { oneIn, pick, type Random } from "../random.ts"
import { must, type Surface, type Verdict } from "../Surface.ts"

/**
 * What of a server is odd: an entry of a list, an item of a result, prompt or resource, such a whole result, a whole response, or
 * a notification.
 */
const parts = [
  ...lists,
  "content",
  "result",
  "message",
  "prompt",
  "contents",
  "read",
  "response",
  "notice",
  "http"
] as const
type Part = (typeof parts)[number]

const isPart = (word: string): word is Part => parts.includes(word as Part)

/** Splits an input into what is odd and its value. An input without a part is refused. */
const readInput = (input: Buffer): { readonly part: Part; readonly text: string } | undefined => {
  const space = input.indexOf(" ")
  const word = input.toString("latin1", 0, Math.max(0, space))
  return isPart(word) ? { part: word, text: input.toString("utf8", space + 1) } : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A correct entry of a list. */
const plainEntry = (list: List, name: string): object => {
  switch (list) {
    case "tools":
      return { name, inputSchema: { type: "object" } }
    case "resources":
      return { uri: `ui://${name}`, name, mimeType: "text/html;profile=mcp-app" }
    case "resourceTemplates":
      return { uriTemplate: `note://${name}/{id}`, name }
    case "prompts":
      return { name }
  }
}

const message = (more: object): string => JSON.stringify({ jsonrpc: "2.0", ...more })

const textItem = (text: string) => ({ type: "text", text })

/** Lists with an odd entry between two correct ones: no host loses one of these. */
const feedEntry = async (list: List, odd: unknown, server: OddServer, hosts: ReadonlyArray<Host>, turn: number) => {
  const plain = [`before-${turn}`, `after-${turn}`]
  const [first, last] = plain.map((name) => plainEntry(list, name))
  server.list(list, [first, odd, last])
  server.send(message({ method: noticeOf(list) }))
  for (const { list: listOf, name } of hosts) {
    await until(
      async () => {
        const listed = JSON.stringify(await listOf(list))
        return plain.every((entry) => listed.includes(entry))
      },
      () => `the host of ${name} never lists the entries beside the odd one`
    )
  }
}

/** Every host receives the result of a call, or an error of the office; its SDK refuses neither. */
const feedResult = async (
  response: string,
  server: OddServer,
  hosts: ReadonlyArray<Host>,
  shown: ReadonlyArray<string>
) => {
  server.respond(response)
  let verdict: Verdict = "refused"
  for (const { call, name } of hosts) {
    const before = server.calls()
    const result = JSON.stringify(await call(server.name))
    must(server.calls() - before === 1, `the tool ran ${server.calls() - before} times`)
    for (const text of shown) must(result.includes(text), `the host of ${name} lost "${text}": ${result.slice(0, 500)}`)
    if (!result.includes('"isError":true')) verdict = "accepted"
  }
  server.respond(undefined)
  return verdict
}

/** The reasons of failed requests; other errors are of the SDK of the host. */
const reasons = /the response has no |the contents have neither|the response is not an MCP result|Method not found/

const requests = {
  "prompts/get": ({ prompt }: Host, server: string) => prompt(server),
  "resources/read": ({ read }: Host, server: string) => read(server)
}

/** Every host receives the reply with the correct parts, or without `shown` possibly the reason of a failure. */
const feedReply = async (
  method: keyof typeof requests,
  reply: unknown,
  server: OddServer,
  hosts: ReadonlyArray<Host>,
  shown: ReadonlyArray<string>
): Promise<Verdict> => {
  server.reply(method, reply)
  let verdict: Verdict = "accepted"
  for (const host of hosts) {
    const received = await requests[method](host, server.name).then(JSON.stringify, (error: unknown) => {
      must(shown.length === 0 && reasons.test(String(error)), `the host of ${host.name} refuses it: ${String(error)}`)
      verdict = "refused"
    })
    for (const text of shown)
      must(String(received).includes(text), `the host of ${host.name} lost "${text}": ${String(received)}`)
  }
  server.reply(method, undefined)
  return verdict
}

/** The server has to work after an odd message, perhaps in a new session. */
const works = async (server: OddServer, { hostsOf, restart }: OddOffice) =>
  until(
    async () => {
      if (JSON.stringify(await hostsOf(server)[0]?.call(server.name).catch(String)).includes('"fine"')) return true
      await restart(server.name)
      return false
    },
    () => `${server.name} does not work any more`
  )

/** An object with an id alone may be an entry of a log: it ends no call. */
const isResponse = (value: unknown): boolean =>
  isJsonObject(value) &&
  value["id"] === idWord &&
  typeof value["method"] !== "string" &&
  (["jsonrpc", "result", "error"].some((name) => name in value) || Object.values(value).includes("2.0"))

const isNotice = (value: unknown): boolean =>
  isJsonObject(value) && lists.some((list) => noticeOf(list) === value["method"]) && !("id" in value)

/** Feeds an input to a server, and checks what the hosts receive. */
const feedPart = async (
  part: Part,
  text: string,
  server: OddServer,
  office: OddOffice,
  turn: number
): Promise<Verdict> => {
  const hosts = office.hostsOf(server)
  const value = parse(text)
  const beside = [`first ${turn}`, `last ${turn}`]
  switch (part) {
    case "tools":
    case "resources":
    case "resourceTemplates":
    case "prompts":
      await feedEntry(part, value, server, hosts, turn)
      return value === undefined ? "refused" : "accepted"
    case "content": {
      const [first, last] = beside.map(textItem)
      return feedResult(message({ id: idWord, result: { content: [first, value, last] } }), server, hosts, beside)
    }
    case "result":
      if (value === undefined || (server.way === "direct" && !isJsonObject(value))) return "refused"
      return feedResult(message({ id: idWord, result: value }), server, hosts, [])
    case "message": {
      const [first, last] = beside.map((one) => ({ role: "user", content: textItem(one) }))
      return feedReply("prompts/get", { messages: [first, value, last] }, server, hosts, beside)
    }
    case "contents": {
      const [first, last] = beside.map((one) => ({ uri: plainUri, text: one }))
      return feedReply("resources/read", { contents: [first, value, last] }, server, hosts, beside)
    }
    case "prompt":
    case "read":
      if (value === undefined) return "refused"
      return feedReply(part === "prompt" ? "prompts/get" : "resources/read", value, server, hosts, [])
    case "response": {
      // A session in this process gives results alone.
      if (!isResponse(value) || server.way === "direct") return "refused"
      const verdict = await feedResult(text, server, hosts, [])
      await works(server, office)
      return verdict
    }
    case "notice": {
      // An input that announces no change is followed by a notification that does.
      server.send(text)
      const list = lists.find((one) => isNotice(value) && text.includes(noticeOf(one))) ?? "tools"
      server.list(list, [plainEntry(list, `noticed-${turn}`)])
      if (!isNotice(value)) server.send(message({ method: noticeOf(list) }))
      else server.send(text)
      for (const { list: listOf, name } of hosts)
        await until(
          async () => JSON.stringify(await listOf(list)).includes(`noticed-${turn}`),
          () => `the host of ${name} never lists what a notification announced`
        )
      return isNotice(value) ? "accepted" : "refused"
    }
    case "http": {
      // The response of SSE arrives on its stream.
      if (server.way !== "json" && server.way !== "stream") return "refused"
      server.respondRaw(Buffer.from(text))
      for (const { call } of hosts.slice(0, 1)) await call(server.name).catch(() => undefined)
      await works(server, office)
      return "refused"
    }
  }
}

const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { a: { type: "integer", minimum: 0 }, b: { anyOf: [{ type: "string" }, { const: null }] } },
  required: ["a"],
  additionalProperties: false
}

const icons = [{ src: "https://example.org/a.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }]
const annotations = { audience: ["user"], priority: 0.5, lastModified: "2025-01-01T00:00:00Z" }

/** Entries of lists, each with every member that MCP has. */
const entries: { readonly [L in List]: ReadonlyArray<object> } = {
  tools: [
    {
      name: "odd",
      title: "Odd",
      description: "is odd",
      inputSchema: schema,
      outputSchema: schema,
      annotations: {
        title: "T",
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false
      },
      execution: { taskSupport: "optional" },
      icons,
      _meta: { a: 1, ui: { resourceUri: "ui://odd", visibility: ["model", "app"] } }
    },
    { name: "small", inputSchema: { type: "object" } }
  ],
  resources: [
    {
      uri: "ui://odd",
      name: "odd",
      title: "Odd",
      description: "is odd",
      mimeType: "text/html;profile=mcp-app",
      size: 3,
      icons,
      annotations,
      _meta: { ui: { csp: { connectDomains: ["https://example.org"] }, prefersBorder: true } }
    },
    { uri: "window://odd/main", name: "odd" },
    { uri: "dpe://odd/doc", name: "odd", _meta: { page_count: 1 } }
  ],
  resourceTemplates: [
    { uriTemplate: "odd://{id}", name: "odd", title: "Odd", description: "is odd", mimeType: "a/b", icons, annotations }
  ],
  prompts: [
    {
      name: "odd",
      title: "Odd",
      description: "is odd",
      arguments: [{ name: "a", title: "A", description: "an argument", required: true }, { name: "b" }],
      icons,
      _meta: { a: 1 }
    }
  ]
}

const contents: ReadonlyArray<object> = [
  { ...textItem("odd"), annotations, _meta: { a: 1 } },
  { type: "image", data: "AAEC", mimeType: "image/png", annotations },
  { type: "audio", data: "AAEC", mimeType: "audio/wav" },
  { type: "resource_link", uri: "odd://1", name: "odd", mimeType: "a/b", size: 1, icons, annotations },
  { type: "resource", resource: { uri: "odd://1", text: "odd", mimeType: "text/plain", _meta: {} }, annotations },
  { type: "resource", resource: { uri: "odd://1", blob: "AAEC" } }
]

const results: ReadonlyArray<object> = [
  { content: [textItem("odd")], structuredContent: { a: 1 }, isError: false, _meta: { a: 1 } },
  { content: [textItem("failed")], structuredContent: { reason: "odd" }, isError: true },
  { content: null, structuredContent: { a: 1 } },
  { content: [], _meta: null }
]

/** Prompts and contents, each with every member that MCP has. */
const replies: { readonly [P in "message" | "prompt" | "contents" | "read"]: ReadonlyArray<object> } = {
  message: contents.map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content })),
  prompt: [
    { description: "odd", messages: [{ role: "user", content: textItem("odd") }], _meta: { a: 1 } },
    { messages: [] }
  ],
  contents: [
    { uri: plainUri, mimeType: "text/plain", text: "odd", _meta: { a: 1 } },
    { uri: plainUri, mimeType: "image/png", blob: "AAEC" }
  ],
  read: [
    {
      contents: [
        { uri: plainUri, text: "odd" },
        { uri: plainUri, blob: "AAEC" }
      ],
      _meta: { a: 1 }
    },
    { contents: [] }
  ]
}

const responses: ReadonlyArray<object> = [
  ...results.map((result) => ({ jsonrpc: "2.0", id: idWord, result })),
  { jsonrpc: "2.0", id: idWord, error: { code: -32602, message: "no", data: { a: 1 } } },
  { jsonrpc: "2.0", id: idWord, error: { code: -32601, message: "no" }, result: null }
]

const httpHeads: ReadonlyArray<string> = [
  "200 OK\r\nContent-Type: application/json",
  "200 OK\r\nContent-Type: text/event-stream",
  "204 No Content",
  "400 Bad Request\r\nContent-Type: application/json",
  "404 Not Found",
  "429 Too Many Requests\r\nRetry-After: 1",
  "500 Internal Server Error\r\nContent-Type: text/html",
  "503 Service Unavailable"
]

const httpBodies: ReadonlyArray<string> = [
  "",
  "{",
  "<html>no</html>",
  message({ id: null, error: { code: -32000, message: "Bad Request: No valid session ID provided" } }),
  message({ id: "server-error", error: { code: -32600, message: "Session not found" } }),
  "data: {}\n\n",
  "id: 1\n\n"
]

const corpus: ReadonlyArray<string> = [
  ...lists.flatMap((list) => entries[list].map((entry) => `${list} ${JSON.stringify(entry)}`)),
  ...contents.map((item) => `content ${JSON.stringify(item)}`),
  ...results.map((result) => `result ${JSON.stringify(result)}`),
  ...Object.entries(replies).flatMap(([part, odd]) => odd.map((one) => `${part} ${JSON.stringify(one)}`)),
  ...responses.map((response) => `response ${JSON.stringify(response)}`),
  ...lists.map((list) => `notice ${message({ method: noticeOf(list), params: { _meta: { a: 1 } } })}`),
  ...httpBodies.map((body, index) => {
    const head = httpHeads[index % httpHeads.length]
    return `http HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  })
]

/** Most mutations of bytes end JSON, which says little about a listing: a mutation of a tree takes their place. */
const jsonFor = (part: Part, text: string, random: Random): string => {
  if (part === "http" || parse(text) !== undefined || oneIn(random, 10)) return text
  const similar = corpus.filter((other) => other.startsWith(`${part} `))
  const once = mutateTree(Buffer.from(pick(random, similar).slice(part.length + 1)), random)
  return (oneIn(random, 2) ? once : mutateTree(once, random)).toString("utf8")
}

/** Odd MCP servers, behind a published office or not: the clients of both official SDKs judge what the hosts receive. */
export const oddServerSurface: Surface = {
  name: "oddServers",
  about: "odd lists, results, prompts, contents, responses, notifications of MCP servers, as hosts receive them",
  weight: 1,
  lanes: 1,
  corpus: corpus.map((text) => Buffer.from(text)),
  words: [
    parts.map((part) => `${part} `),
    ['"type":"object",', '"properties":[],', '"required":null,', '"required":{},'],
    ['"$ref":"#/$defs/none",', '"type":"strin",', '"pattern":"(",'],
    ['"_meta":null,', '"annotations":null,', '"icons":null,'],
    [
      '"inputSchema":{"type":"object","properties":[]},',
      '"outputSchema":{"type":"string"},',
      '"outputSchema":{"oneOf":[{}]},'
    ],
    ['"role":"system",', '"blob":"no!",', '"resultType":"odd",'],
    ['"id":"@id",', '"result":{},', '"error":null,', '"params":null,'],
    ["null", "[]", "{}", '""']
  ].flat(),
  longest: 20 * 1024,
  open: (note) =>
    Effect.gen(function* () {
      const office = yield* openOddOffice
      let turn = 0
      return {
        feed: async (input: Buffer, random: Random): Promise<Verdict> => {
          turn += 1
          const read = readInput(input)
          if (read === undefined) return "refused"
          const text = jsonFor(read.part, read.text, random)
          return feedPart(read.part, text, pick(random, office.servers), office, turn)
        },
        begin: () => Promise.resolve(),
        settle: () => Promise.resolve(),
        finish: () => Promise.resolve()
      }
    }).pipe(Effect.provide(errorsTo(note)))
}
