import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { bundlePage } from "../../../scripts/buildPage.ts"
import type {
  PageCallMessage,
  PageCallRequest,
  PageCommand,
  PageReplies,
  PageSession,
  PageCommandOf,
  PageCommandTag
} from "../../../src/domain/page/PageCommand.ts"
import type { PageEvent, PageMessage, PageSnapshot } from "../../../src/domain/page/PageEvent.ts"
import { makeApproval, makeBatch, makeSession, makeSnapshot, startTime } from "./pageFixtures.ts"

/** The policy of the Server. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types"

/** Replies to commands. */
export type Replies = {
  [T in PageCommandTag]?: (command: PageCommandOf<T>) => PageReplies[T] | RejectedCommand
}

/** A rejection with its HTTP status. */
export class RejectedCommand {
  readonly code: number
  readonly message: string
  constructor(code: number, message: string) {
    this.code = code
    this.message = message
  }
}

const builtPage = bundlePage()

const types: { readonly [extension: string]: string } = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8"
}

/** A Server with the routes of the office page, whose messages and replies the test decides. */
export class ScriptedServer {
  /** Missing: the page must sign in. */
  session: PageSession | undefined = makeSession()
  /** The token that signs in. */
  token = "operator-key"
  snapshot: PageSnapshot = makeSnapshot()
  /** The events of the first batch after the snapshot. */
  firstEvents: ReadonlyArray<PageEvent> = []
  readonly replies: Replies = {}
  /** The messages of a call; the signal is aborted when the page closes the reply. */
  call: (request: PageCallRequest, signal: AbortSignal) => AsyncIterable<PageCallMessage> = async function* () {}
  /** All commands except `Focus`, in the order of their arrival. */
  readonly commands: Array<PageCommand> = []
  /** The offices that the page watched. */
  readonly focused: Array<string> = []
  /** Headers of the requests other than GET. */
  readonly headers: Array<IncomingMessage["headers"]> = []
  /** True: every request fails, as behind a proxy without a Server. */
  isDown = false

  readonly #streams = new Set<ServerResponse>()
  readonly #http = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
  })

  async start(): Promise<this> {
    await new Promise<void>((listening) => void this.#http.listen(0, "127.0.0.1", listening))
    return this
  }

  get #origin(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`
  }

  get url(): string {
    return `${this.#origin}/office`
  }

  /** How commands on the page connect to this Server. */
  get connectionFlags(): string {
    return `--server ${this.#origin} --token-file FILE`
  }

  get openStreams(): number {
    return this.#streams.size
  }

  send(message: PageMessage): void {
    for (const stream of this.#streams) stream.write(`${JSON.stringify(message)}\n`)
  }

  /** Ends all streams, as a Server that restarts. */
  dropStreams(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#http.closeAllConnections()
    await new Promise((closed) => void this.#http.close(closed))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = ""] = (request.url ?? "").split("?")
    response.setHeader("content-security-policy", contentSecurityPolicy)
    if (this.isDown) {
      request.socket.destroy()
    } else if (path === "/office" || path === "/office/") {
      await this.#file("index.html", response)
    } else if (path.startsWith("/office/api/")) {
      await this.#api(path.slice("/office/api/".length), request, response)
    } else {
      await this.#file(path.slice("/office/".length), response)
    }
  }

  async #file(name: string, response: ServerResponse): Promise<void> {
    const content = (await builtPage).files.get(name)
    if (content === undefined) response.writeHead(404).end()
    else response.writeHead(200, { "content-type": types[name.split(".").at(-1) ?? ""] ?? "text/plain" }).end(content)
  }

  async #api(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isGet = request.method === "GET"
    if (!isGet) this.headers.push(request.headers)
    if (name === "session") return this.#session(request, response)
    if (this.session === undefined) return json(response, 401, { code: 401, message: "credentials are required" })
    if (name === "events") return this.#events(response)
    const body = await text(request)
    if (name === "commands") return this.#command(JSON.parse(body) as PageCommand, response)
    if (name === "calls") return this.#calls(JSON.parse(body) as PageCallRequest, response)
    return json(response, 404, { code: 404, message: "no such route" })
  }

  async #session(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method === "DELETE") this.session = undefined
    if (request.method === "POST") {
      const { token } = JSON.parse(await text(request)) as { readonly token: string }
      if (token !== this.token) return json(response, 401, { code: 401, message: "invalid key" })
      this.session = makeSession()
    }
    if (this.session !== undefined) json(response, 200, this.session)
    else json(response, request.method === "DELETE" ? 200 : 401, { code: 401, message: "credentials are required" })
  }

  #events(response: ServerResponse): void {
    response.writeHead(200, { "content-type": "application/x-ndjson", "cache-control": "no-store" })
    response.write(`\n${JSON.stringify(this.snapshot)}\n`)
    if (this.firstEvents.length > 0) {
      response.write(`${JSON.stringify(makeBatch(this.firstEvents, { at: startTime }))}\n`)
    }
    this.#streams.add(response)
    response.on("close", () => this.#streams.delete(response))
  }

  #command(command: PageCommand, response: ServerResponse): void {
    if (command._tag === "Focus") {
      this.focused.push(command.office)
      return json(response, 200, {})
    }
    this.commands.push(command)
    // The tag of the command chooses the handler, which TypeScript cannot correlate.
    const handler = this.replies[command._tag] as ((command: PageCommand) => unknown) | undefined
    const reply = handler?.(command) ?? defaultReplies[command._tag]
    if (reply instanceof RejectedCommand) json(response, reply.code, { code: reply.code, message: reply.message })
    else json(response, 200, reply)
  }

  async #calls(request: PageCallRequest, response: ServerResponse): Promise<void> {
    const abort = new AbortController()
    response.on("close", () => abort.abort())
    response.writeHead(200, { "content-type": "application/x-ndjson" })
    response.flushHeaders()
    for await (const message of this.call(request, abort.signal)) response.write(`${JSON.stringify(message)}\n`)
    response.end()
  }
}

const defaultReplies: PageReplies = {
  Focus: {},
  Disconnect: {},
  Drain: {},
  CancelCall: {},
  GetTools: { tools: [], startingServers: [] },
  GetDesktop: { desktops: [] },
  FindDocuments: { documents: [], totalCount: 0 },
  GetDocument: { mimeType: "text/plain", text: "", isTruncated: false },
  SendMcpRequest: { result: { servers: [] } },
  GetCallBody: { params: "{}", result: "{}" },
  GetApproval: makeApproval(),
  DecideApproval: makeApproval({ state: "allowed", decidedBy: "operator:ops", decidedAt: startTime, scope: "once" }),
  ExplainCall: { steps: [], decision: { action: "ask", by: "default" }, canAsk: true }
}

const json = (response: ServerResponse, status: number, value: unknown): void => {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
}
