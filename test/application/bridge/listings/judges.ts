import { PassThrough } from "node:stream"
import { Client as ModernClient } from "@modelcontextprotocol/client"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { StdioServerTransport as ModernStdioTransport } from "@modelcontextprotocol/server/stdio"
import { Effect, type Scope } from "effect"
import { publishStdio } from "../../../../src/adapters/mcp/publish/publishStdio.ts"
import type { McpSession } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"

/** What the official clients use of a published session, checked by their own schemas. */
export interface Judge {
  readonly tools: Effect.Effect<ReadonlyArray<JsonObject>>
  readonly resources: Effect.Effect<ReadonlyArray<JsonObject>>
  readonly templates: Effect.Effect<ReadonlyArray<JsonObject>>
  readonly prompts: Effect.Effect<ReadonlyArray<JsonObject>>
  readonly call: (name: string) => Effect.Effect<JsonObject>
  /** The result, or what the SDK throws. */
  readonly tryCall: (name: string) => Attempt
  readonly read: (uri: string) => Attempt
  readonly prompt: (name: string, args?: Record<string, string>) => Attempt
  /** Completes an argument of a prompt. */
  readonly complete: (prompt: string, argument: { readonly name: string; readonly value: string }) => Attempt
}

/** The reply of a request; fails with the error of the SDK. */
type Attempt = Effect.Effect<JsonObject, { readonly message: string }>

type Lists = Pick<
  Client,
  | "listTools"
  | "listResources"
  | "listResourceTemplates"
  | "listPrompts"
  | "callTool"
  | "readResource"
  | "getPrompt"
  | "complete"
>

const judgeOf = (client: unknown): Judge => {
  const lists = client as Lists
  const asking = (request: () => Promise<object>) => Effect.promise(async () => (await request()) as JsonObject)
  const trying = (request: () => Promise<object>): Attempt =>
    Effect.tryPromise({
      try: async () => (await request()) as JsonObject,
      catch: (error) => ({ message: error instanceof Error ? error.message : String(error) })
    })
  const items = (request: () => Promise<object>, member: string) =>
    Effect.map(asking(request), ({ [member]: listed }) => listed as ReadonlyArray<JsonObject>)
  return {
    tools: items(() => lists.listTools(), "tools"),
    resources: items(() => lists.listResources(), "resources"),
    templates: items(() => lists.listResourceTemplates(), "resourceTemplates"),
    prompts: items(() => lists.listPrompts(), "prompts"),
    call: (name) => asking(() => lists.callTool({ name, arguments: {} })),
    tryCall: (name) => trying(() => lists.callTool({ name, arguments: {} })),
    read: (uri) => trying(() => lists.readResource({ uri })),
    prompt: (name, args = {}) => trying(() => lists.getPrompt({ name, arguments: args })),
    complete: (name, argument) => trying(() => lists.complete({ ref: { type: "ref/prompt", name }, argument }))
  }
}

interface Connectable {
  readonly connect: (transport: never) => Promise<void>
  readonly close: () => Promise<void>
}

const info = { name: "judge", version: "1" }
/** Without it, apps and the tools for them are hidden. */
const capabilities = { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: ["text/html;profile=mcp-app"] } } }

const kinds: ReadonlyArray<
  readonly [name: string, client: () => Connectable, transport: (stdout: PassThrough, stdin: PassThrough) => object]
> = [
  ["the v1 SDK", () => new Client(info, { capabilities }), (out, into) => new StdioServerTransport(out, into)],
  [
    "the v2 SDK with MCP 2025-11-25",
    () => new ModernClient(info, { capabilities }),
    (out, into) => new ModernStdioTransport(out, into)
  ],
  [
    "the v2 SDK with MCP 2026-07-28",
    () => new ModernClient(info, { capabilities, versionNegotiation: { mode: "auto" } }),
    (out, into) => new ModernStdioTransport(out, into)
  ]
]

/** Opens each official client with a session that is published over streams. */
export const judges: ReadonlyArray<
  readonly [name: string, open: (session: McpSession) => Effect.Effect<Judge, never, Scope.Scope>]
> = kinds.map(([name, makeClient, makeTransport]) => [
  name,
  Effect.fnUntraced(function* (session) {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    yield* Effect.forkScoped(publishStdio(session, { stdin, stdout }))
    const client = makeClient()
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(makeTransport(stdout, stdin) as never)),
      () => Effect.promise(() => client.close())
    )
    return judgeOf(client)
  })
])
