import { isJsonObject, type JsonObject, stringOrEmpty } from "../../../../domain/json.ts"
import { jsonRpcCodes } from "../../../../domain/jsonRpcCodes.ts"
import {
  appProtocolVersion,
  appRate,
  parseAppMessage,
  sandboxMethods
} from "../../../../domain/page/apps/appMessages.ts"
import type { AppContent, ToolApp } from "../../../../domain/page/apps/findApp.ts"
import { makeTokenBucket, takeToken } from "../../../../domain/tokenBucket.ts"

/** Calls, reads and links of an app in progress; further ones are rejected. */
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
  /** The page that frames the app has answered. */
  readonly onLoad: () => void
  readonly onHeight: (height: number) => void
  /** A request of the app was rejected, or has failed. `request` is its tool or its method. */
  readonly onFailure: (request: string, reason: string) => void
  /** The app must be removed. */
  readonly onEnd: (reason: string) => void
}

const teardownId = "teardown"

/** Why the operator sees no app any more, unless it broke the rules. */
export const appHasEnded = "The app has ended."

type Method = (params: JsonObject) => JsonObject | Promise<JsonObject>

const fail = (message: string, code: number = jsonRpcCodes.invalidParams): never => {
  throw new AppRequestFailed(message, code)
}

/** The requests of an app that the page serves. */
const makeMethods = (options: AppBridgeOptions): ReadonlyMap<string, Method> => {
  const { app, callTool, content, context, openLink, readResource } = options
  let running = 0
  /** A request that asks the Computer or the operator. */
  const bounded =
    (ask: Method): Method =>
    async (params) => {
      if (running >= maxRunningRequests) throw new AppRequestFailed("Too many requests in progress")
      running += 1
      try {
        return await ask(params)
      } finally {
        running -= 1
      }
    }
  return new Map(
    Object.entries<Method>({
      ping: () => ({}),
      "ui/initialize": () => ({
        protocolVersion: appProtocolVersion,
        hostInfo: { name: "a2c-office-page", version: "1" },
        hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, sandbox: { csp: content.domains } },
        hostContext: context
      }),
      "ui/request-display-mode": () => ({ mode: "inline" }),
      "ui/message": () =>
        fail("The app sent a message to a conversation, which this page does not have", jsonRpcCodes.methodNotFound),
      "tools/call": bounded(({ arguments: args = {}, name }) => {
        const tool = app.tools.get(stringOrEmpty(name))
        if (tool === undefined) return fail("The app may not call this tool: only those of its MCP server for apps")
        return isJsonObject(args) ? callTool(tool, args) : fail("'arguments' must be an object")
      }),
      "resources/read": bounded(({ uri }) =>
        typeof uri === "string" ? readResource(app.toComputerUri(uri)) : fail("'uri' must be a string")
      ),
      "ui/open-link": bounded(async (params) => {
        const url = URL.parse(stringOrEmpty(params["url"]))
        if (url === null || !/^https?:$/.test(url.protocol)) return fail("Only http and https URLs open")
        await openLink(url)
        return {}
      })
    })
  )
}

/**
 * The page's end of the protocol of MCP Apps. `receive` takes the data of each message event of the frame, whose source and
 * origin the caller has checked.
 */
export const makeAppBridge = (options: AppBridgeOptions, now: () => number = () => performance.now()) => {
  const methods = makeMethods(options)
  const bucket = makeTokenBucket(appRate, now())
  let isLoaded = false
  let isInitialized = false
  let isEnded = false
  const post = (message: JsonObject): void => options.send({ jsonrpc: "2.0", ...message })

  const answer = async (id: string | number, method: string, params: JsonObject): Promise<void> => {
    const serve =
      methods.get(method) ?? (() => fail("The office page does not support this request", jsonRpcCodes.methodNotFound))
    try {
      post({ id, result: await serve(params) })
    } catch (error) {
      const code = error instanceof AppRequestFailed ? error.code : jsonRpcCodes.internalError
      const message = error instanceof Error ? error.message : String(error)
      options.onFailure(options.app.tools.get(stringOrEmpty(params["name"])) ?? method, message)
      post({ id, error: { code, message } })
    }
  }

  const onNotification = (method: string, params: JsonObject): void => {
    if (method === sandboxMethods.ready && !isLoaded) {
      isLoaded = true
      options.onLoad()
      post({ method: sandboxMethods.load, params: { html: options.content.html } })
    } else if (method === "ui/notifications/initialized" && !isInitialized) {
      isInitialized = true
      post({ method: "ui/notifications/tool-input", params: { arguments: options.call.params } })
      post({ method: "ui/notifications/tool-result", params: options.call.result })
    } else if (method === "ui/notifications/size-changed") {
      if (typeof params["height"] === "number") options.onHeight(params["height"])
    }
  }

  return {
    receive: (data: unknown): void => {
      if (isEnded) return
      if (takeToken(bucket, appRate, now()) > 0) {
        isEnded = true
        return options.onEnd("It was stopped because it sent too many messages.")
      }
      const { id, method, params = {} } = parseAppMessage(data) ?? {}
      if (method === undefined) {
        if (id === teardownId) options.onEnd(appHasEnded)
      } else if (id === undefined) onNotification(method, params)
      else void answer(id, method, params)
    },
    /** Asks the app to end. */
    tearDown: (): void => post({ id: teardownId, method: "ui/resource-teardown", params: {} })
  }
}
