import { asObject, asString, isJsonObject, type JsonObject } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import {
  appProtocolVersion,
  makeAppRate,
  parseAppMessage,
  sandboxMethods
} from "../../../../domain/page/apps/appMessages.ts"
import type { AppContent, ToolApp } from "../../../../domain/page/apps/findApp.ts"

/** Calls and reads of an app in progress; further ones are rejected. */
const maxRunningRequests = 4

/** A request that is refused or fails, as the app sees it. */
export class AppRequestFailed extends Error {
  readonly code: number
  constructor(message: string, code: number = jsonRpcCodes.connectionClosed) {
    super(message)
    this.code = code
  }
}

interface AppBridgeOptions {
  readonly app: Pick<ToolApp, "tools" | "toComputerUri">
  readonly content: AppContent
  /** Describes the page to the app. */
  readonly context: JsonObject
  /** The call whose app it is. */
  readonly call: { readonly params: JsonObject; readonly result: JsonObject }
  /** Sends a message to the page that frames the app. */
  readonly send: (message: JsonObject) => void
  /** Calls a tool by its name at the Computer, and gives its result as MCP has it. */
  readonly callTool: (tool: string, params: JsonObject) => Promise<JsonObject>
  readonly readResource: (uri: string) => Promise<JsonObject>
  /** Opens a URL after the operator has agreed; rejects otherwise. */
  readonly openLink: (url: URL) => Promise<void>
  readonly onHeight: (height: number) => void
  /** The app has answered that it is ready to end. */
  readonly onTornDown: () => void
  /** The app breaks the rules, and must be removed. */
  readonly onViolation: (reason: string) => void
}

const invalidParams = (message: string) => new AppRequestFailed(message, jsonRpcCodes.invalidParams)

const teardownId = "teardown"

/** Makes the function that serves the requests of an app. */
const makeRequestHandler = ({ app, callTool, content, context, openLink, readResource }: AppBridgeOptions) => {
  const answers = new Map<string, JsonObject>([
    [
      "ui/initialize",
      {
        protocolVersion: appProtocolVersion,
        hostInfo: { name: "a2c-office-page", version: "1" },
        hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, sandbox: { csp: content.domains } },
        hostContext: context
      }
    ],
    ["ping", {}],
    ["ui/request-display-mode", { mode: "inline" }]
  ])
  let running = 0
  /** The requests that ask the Computer or the operator. */
  const questions: { readonly [method: string]: (params: JsonObject) => Promise<JsonObject> } = {
    "tools/call": ({ arguments: args = {}, name }) => {
      const tool = app.tools.get(asString(name) ?? "")
      if (tool === undefined)
        throw invalidParams("The app may not call this tool: only those of its MCP server for apps")
      if (!isJsonObject(args)) throw invalidParams("'arguments' must be an object")
      return callTool(tool, args)
    },
    "resources/read": ({ uri }) => {
      if (typeof uri !== "string") throw invalidParams("'uri' must be a string")
      return readResource(app.toComputerUri(uri))
    },
    "ui/open-link": async (params) => {
      const url = URL.parse(asString(params["url"]) ?? "")
      if (url === null || !["http:", "https:"].includes(url.protocol))
        throw invalidParams("Only http and https URLs open")
      await openLink(url)
      return {}
    }
  }
  return async (method: string, params: JsonObject): Promise<JsonObject> => {
    const answer = answers.get(method)
    if (answer !== undefined) return answer
    const ask = Object.hasOwn(questions, method) ? questions[method] : undefined
    if (ask === undefined)
      throw new AppRequestFailed("The office page does not support this request", jsonRpcCodes.methodNotFound)
    if (running >= maxRunningRequests) throw new AppRequestFailed("Too many requests in progress")
    running += 1
    try {
      return await ask(params)
    } finally {
      running -= 1
    }
  }
}

/**
 * The page's end of the protocol of MCP Apps. `receive` takes the data of each message event of the frame, whose source and
 * origin the caller has checked.
 */
export const makeAppBridge = (options: AppBridgeOptions, now: () => number = () => performance.now()) => {
  const handle = makeRequestHandler(options)
  const isWithinRate = makeAppRate(now())
  let isLoaded = false
  let isInitialized = false
  let isEnded = false

  const post = (message: JsonObject): void => {
    if (!isEnded) options.send({ jsonrpc: "2.0", ...message })
  }

  const answer = (id: string | number, method: string, params: JsonObject): void => {
    handle(method, params).then(
      (result) => post({ id, result }),
      (error: unknown) => {
        const code = error instanceof AppRequestFailed ? error.code : jsonRpcCodes.internalError
        post({ id, error: { code, message: error instanceof Error ? error.message : String(error) } })
      }
    )
  }

  const onNotification = (method: string, params: JsonObject): void => {
    if (method === sandboxMethods.ready && !isLoaded) {
      isLoaded = true
      post({ method: sandboxMethods.load, params: { html: options.content.html } })
    } else if (method === "ui/notifications/initialized" && !isInitialized) {
      isInitialized = true
      post({ method: "ui/notifications/tool-input", params: { arguments: options.call.params } })
      post({ method: "ui/notifications/tool-result", params: options.call.result })
    } else if (method === "ui/notifications/size-changed") {
      const { height } = asObject(params)
      if (typeof height === "number" && Number.isFinite(height)) options.onHeight(height)
    }
  }

  return {
    /** True once the page that frames the app has answered. */
    isLoaded: () => isLoaded,
    receive: (data: unknown): void => {
      if (isEnded) return
      if (!isWithinRate(now())) {
        isEnded = true
        return options.onViolation("It was stopped because it sent too many messages.")
      }
      const message = parseAppMessage(data)
      if (message?._tag === "Request") answer(message.id, message.method, message.params)
      else if (message?._tag === "Notification") onNotification(message.method, message.params)
      else if (message?.id === teardownId) options.onTornDown()
    },
    /** Asks the app to end. */
    tearDown: (): void => {
      if (isInitialized) post({ id: teardownId, method: "ui/resource-teardown", params: {} })
      else options.onTornDown()
    },
    /** Sends nothing more. */
    end: (): void => {
      isEnded = true
    }
  }
}
