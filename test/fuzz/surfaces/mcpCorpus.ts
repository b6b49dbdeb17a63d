import { idWord, type Moment } from "../live/mcpPeer.ts"

const text = { type: "text", text: "hi" }

/** The placeholder for a value that can be parsed but is too deep to serialize. */
const deepWord = "@deep"
const levels = 15_000
const tooDeep = "[".repeat(levels) + "]".repeat(levels)

/** A value with this nesting depth. */
const deep = (depth: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object",
  properties: { a: { $ref: "#/$defs/a" }, b: { anyOf: [{ type: "string" }, { const: null }] } },
  required: ["a"],
  $defs: { a: { type: "integer", minimum: 0 } },
  additionalProperties: false
}

const tool = { name: "t", description: "does it", inputSchema: schema, annotations: { title: "T" } }

/** MCP results with their moments. */
const results: ReadonlyArray<readonly [Moment, unknown]> = [
  [
    "hello",
    {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, logging: {} },
      serverInfo: { name: "x", version: "1", title: "X" },
      instructions: "be nice",
      _meta: {}
    }
  ],
  ["hello", { protocolVersion: "1999-01-01", capabilities: {}, serverInfo: { name: "", version: "" } }],
  ["hello", { protocolVersion: "2024-11-05", capabilities: { tools: null }, serverInfo: {} }],
  ["tools", { tools: [tool, { ...tool, name: "u", outputSchema: schema, _meta: { a: 1 } }] }],
  ["tools", { tools: [{ ...tool, name: "page @n" }], nextCursor: "@n" }],
  ["tools", { tools: [tool, tool, { name: "ask-witness", inputSchema: {} }], nextCursor: "" }],
  [
    "tools",
    {
      tools: [
        { name: "r", inputSchema: { $ref: "#" } },
        { name: "d", inputSchema: deep(126) }
      ]
    }
  ],
  ["tools", { tools: [{ name: "", inputSchema: null }, null, 1, { inputSchema: {} }] }],
  ["tools", JSON.parse('{"tools":[{"name":"p","inputSchema":{"properties":{"__proto__":{"type":"x"}}}}]}')],
  [
    "resources",
    {
      resources: [
        { uri: "window://w/one?priority=3&fullscreen=true", name: "w", mimeType: "text/plain", size: 3 },
        { uri: "dpe://d/doc", name: "d", _meta: { page_count: 3, keywords: ["k"], file_type: "pdf" } },
        { uri: "dpe://d/other", annotations: { lastModified: "2025-01-01T00:00:00Z" } }
      ]
    }
  ],
  ["resources", { resources: [{ uri: "window://w/@n" }], nextCursor: "@n" }],
  ["resources", { resources: [{ uri: "window://witness/main" }, { uri: "dpe://witness/doc" }, { uri: 1 }] }],
  ["resources", { resources: [{ uri: "file:///etc/passwd", _meta: deep(126) }] }],
  [
    "read",
    {
      contents: [
        { uri: "window://w", text: "shown" },
        { uri: "x", blob: "AAEC", mimeType: "a/b" }
      ]
    }
  ],
  ["read", { contents: [{ text: JSON.stringify({ page_count: 2, title: "t", keywords: ["a"] }) }] }],
  ["read", { contents: [{ text: 7 }, { blob: "!" }, null] }],
  ["call", { content: [text], isError: false, structuredContent: { a: 1 }, _meta: { b: 1 } }],
  [
    "call",
    {
      content: [
        { type: "hologram", data: [1] },
        { ...text, annotations: { audience: ["user"] } }
      ]
    }
  ],
  [
    "call",
    {
      content: [
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "resource", resource: { uri: "x:y", blob: "AA==" } },
        { type: "resource_link", uri: "x:y", name: "n" }
      ],
      isError: true
    }
  ],
  ["call", { content: [{ ...text, text: "x".repeat(9000) }], structuredContent: deep(126) }],
  ["call", { task: { taskId: "t", status: "working", ttl: 1000 } }],
  ["call", { resultType: "task", taskId: "t", status: "completed", result: { content: [text] } }],
  ["call", { resultType: "task", taskId: "t", status: "failed", error: { code: 1, message: "m" }, ttlMs: 1 }],
  ["call", { resultType: "task", taskId: 5, status: "input_required", inputRequests: { a: null } }],
  [
    "call",
    {
      resultType: "input_required",
      requestState: "s",
      inputRequests: { q: { method: "elicitation/create", params: { mode: "url", message: "m", url: "https://x/y" } } }
    }
  ],
  ["call", { isError: "yes", content: {} }],
  ["subscribe", {}],
  ["subscribe", { contents: [] }]
]

const errors: ReadonlyArray<unknown> = [
  { code: -32601, message: "Method not found" },
  { code: -32022, message: "no such revision", data: { supported: ["2026-07-28"] } },
  { code: -32042, message: "a URL is needed", data: { elicitations: [{ mode: "url", url: "http://x" }] } },
  { code: 1e21, message: "", data: deep(126) }
]

const momentsOfErrors: ReadonlyArray<Moment> = ["hello", "tools", "call", "read", "subscribe"]

const message = (more: object): string =>
  JSON.stringify({ jsonrpc: "2.0", ...more }).replace(JSON.stringify(deepWord), tooDeep)

/** Replies with their moments. */
export const answers: ReadonlyArray<readonly [Moment, string]> = [
  ...results.map(([moment, result]) => [moment, message({ id: idWord, result })] as const),
  ...errors.flatMap((error) => momentsOfErrors.map((moment) => [moment, message({ id: idWord, error })] as const)),
  ["call", message({ id: "0", result: { content: [text] } })],
  ["call", message({ id: 424_242, result: { content: [text] } })],
  ["call", message({ id: 424_242, result: { a: deepWord } })],
  ["call", message({ id: idWord, result: { content: [text], structuredContent: { a: deepWord } } })],
  ["tools", message({ id: idWord, result: { tools: [{ ...tool, inputSchema: { a: deepWord } }] } })],
  ["resources", message({ id: idWord, result: { resources: [{ uri: "window://w", a: deepWord }] } })],
  ["read", message({ id: idWord, result: { contents: [{ text: "x", a: deepWord }] } })],
  ["call", message({ result: { content: [text] } })],
  ["call", message({ id: idWord, result: [], error: { code: 1, message: "both" } })]
]

const notify = (method: string, params?: object): string => message({ method, params })

/** Unsolicited messages of a server. */
export const sayings: ReadonlyArray<string> = [
  notify("notifications/tools/list_changed"),
  notify("notifications/resources/list_changed"),
  notify("notifications/resources/updated", { uri: "window://w/one" }),
  notify("notifications/resources/updated", { uri: { toString: 1 } }),
  notify("notifications/prompts/list_changed"),
  notify("notifications/message", { level: "info", logger: "l", data: { a: [1] } }),
  notify("notifications/progress", { progressToken: 3, progress: 1, total: 2, message: "m" }),
  notify("notifications/progress", { progressToken: "3", progress: "far", more: deepWord }),
  notify("notifications/cancelled", { requestId: 3, reason: "no" }),
  notify("notifications/elicitation/complete", { elicitationId: "e" }),
  notify("notifications/tasks/status", { taskId: "t", status: "working" }),
  notify("notifications/none"),
  message({ id: 1, method: "ping" }),
  message({ id: "p", method: "ping", params: { _meta: { progressToken: 1 } } }),
  message({
    id: 2,
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: text }], maxTokens: 10, tools: [tool], task: { ttl: 1 } }
  }),
  message({ id: 3, method: "roots/list" }),
  message({
    id: 4,
    method: "elicitation/create",
    params: { message: "who?", requestedSchema: { type: "object", properties: {} } }
  }),
  message({ id: 5, method: "tasks/get", params: { taskId: "t" } }),
  message({
    id: 6,
    method: "initialize",
    params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "c", version: "1" } }
  }),
  message({ id: 7, method: "none", params: { _meta: { "io.modelcontextprotocol/related-task": null } } }),
  message({ id: null, method: "ping" }),
  message({ id: 3, error: { code: -32700, message: "Parse error" } })
]

/** Tokens of MCP messages. */
export const mcpWords: ReadonlyArray<string | Buffer> = [
  ['"jsonrpc":"2.0",', '"id":"@id",', '"id":1,', '"id":null,'],
  ['"result":{},', '"error":{"code":1,"message":"m"},'],
  ['"method":"ping",', '"method":"tools/call",', '"method":"notifications/tools/list_changed"'],
  ['"params":{"progressToken":1,"progress":1},', '"nextCursor":"@n",', '"_meta":{"progressToken":1},'],
  ['"$ref":"#/properties/a",', '"$ref":"http://127.0.0.1:9/x",', '"$id":"x",'],
  ['"inputSchema":true,', '"type":"object",'],
  ['"__proto__":{},', '"constructor":{},', '"then":1,'],
  ['"uri":"window://%ED%A0%80",', '"uri":"dpe://",'],
  ['"isError":1,', '"task":{"taskId":"t"},', '"\\ud800"'],
  ["\ufeff", "\u2028", "1e999"],
  ["[", "]", "{", "}", ","]
].flat()
