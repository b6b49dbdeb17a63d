/** A Computer as the client that MCP's conformance suite judges. */
import { randomUUID } from "node:crypto"
import { createServer, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { Record } from "effect"
import { type RunningComputer, runComputer } from "../../src/main/entrypoints/promise.ts"
import { asObject, asString, type JsonObject } from "../../src/domain/json.ts"

/** What the suite tells its client. */
interface Scenario {
  readonly url: string
  readonly scenario: string
  readonly revision: string
  readonly context: JsonObject
}

/** The user of the Computer: opens every page, and follows its redirects. */
const browse = async ({ url }: { readonly url: string }): Promise<void> => {
  await (await fetch(url)).text()
}

/** Waits until the server runs, or cannot. */
const awaitState = async (computer: RunningComputer, server: string) => {
  for await (const states of computer.changes({ signal: AbortSignal.timeout(20_000) })) {
    const state = states.get(server)
    if (state !== undefined && state._tag !== "Starting") return state
  }
  throw new Error("the Computer ended")
}

/** Scenarios in which the authorization becomes invalid: the owner restarts the server to authorize it again. */
const restarting: ReadonlySet<string> = new Set(["auth/authorization-server-migration"])

/** Opens the server as its owner; throws when it cannot run. */
const openServer = async (computer: RunningComputer, server: string, { scenario }: Scenario): Promise<void> => {
  let state = await awaitState(computer, server)
  if (state._tag === "Failed" && restarting.has(scenario)) {
    await computer.restart(server)
    state = await awaitState(computer, server)
  }
  if ("reason" in state && state._tag !== "Degraded") throw new Error(state.reason)
}

/** The arguments of calls, where no arguments would not do. */
const paramsOf = (tool: string, { context }: Scenario, schemas: ReadonlyMap<string, JsonObject>): JsonObject => {
  const given = context["toolCalls"]
  const call = Array.isArray(given) ? given.map(asObject).find(({ name }) => name === tool) : undefined
  // A Computer refuses a null that the schema does not permit, before the call.
  if (call !== undefined) return Record.filter(asObject(call["arguments"]), (value) => value !== null)
  if (tool === "add_numbers") return { a: 2, b: 3 }
  if (tool === "valid_tool") return { region: "north" }
  if (tool === "json_schema_echo") return { schema: schemas.get("json_schema_2020_12_tool") ?? {} }
  return {}
}

/** A client that the suite has registered. */
const registeredClient = ({ context: { client_id, client_secret }, scenario }: Scenario) =>
  scenario === "auth/pre-registration" ? { oauth: { client_id, client_secret } } : {}

const play = async (scenario: Scenario): Promise<void> => {
  const server = `suite-${randomUUID()}`
  await using computer = await runComputer({
    name: "judged",
    url: "http://127.0.0.1:9",
    config: { mcpServers: { [server]: { type: "http", url: scenario.url, ...registeredClient(scenario) } } },
    clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
    mcpRevision: scenario.revision === "2026-07-28" ? "2026-07-28" : "2025-11-25",
    authorize: browse,
    onInput: () => ({ action: "accept", content: {} }),
    log: () => undefined
  })
  await openServer(computer, server, scenario)
  const { entries } = await computer.catalogue()
  const schemas = new Map([...entries].map(([name, { tool }]) => [name, asObject(tool.paramsSchema)]))
  for (const tool of entries.keys()) {
    await computer.callTool({ tool, params: paramsOf(tool, scenario, schemas), timeout: 15 })
  }
}

const receive = async (request: IncomingMessage): Promise<Scenario> => {
  const { url, scenario, revision, context } = asObject(JSON.parse(await text(request)))
  return {
    url: asString(url) ?? "",
    scenario: asString(scenario) ?? "",
    revision: asString(revision) ?? "",
    context: asObject(context)
  }
}

/** Listens for the clients that the suite starts. */
export const listenForScenarios = async (): Promise<{ readonly url: string } & Disposable> => {
  const http = createServer((request, response) => {
    receive(request)
      .then(play)
      .then(
        () => response.end(),
        (error: unknown) => response.writeHead(500).end(String(error))
      )
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  const address = http.address()
  const port = typeof address === "object" ? address?.port : undefined
  return { url: `http://127.0.0.1:${port}`, [Symbol.dispose]: () => void http.close() }
}
