/**
 * The program of the page that frames an app. It stands at another origin than the office page, passes messages on, and holds
 * nothing. Messages for the office page are JSON text, so that their length is known before they are read.
 */
import { isJsonObject, parseJson, stringOrEmpty } from "../../../domain/json.ts"
import { maxAppMessageLength, sandboxMethods } from "../../../domain/page/apps/appMessages.ts"

const page = new URLSearchParams(location.search).get("page") ?? ""

const app = document.createElement("iframe")
// Without allow-same-origin the app has an origin that equals no other.
app.setAttribute("sandbox", "allow-scripts allow-forms")
app.allow = ""
app.referrerPolicy = "no-referrer"
app.title = "App"

const toPage = (message: unknown): void => {
  let text: string
  try {
    text = JSON.stringify(message)
  } catch {
    return
  }
  if (text.length <= maxAppMessageLength) parent.postMessage(text, page)
}

const receive = (message: unknown): void => {
  if (!isJsonObject(message)) return
  const { method, params } = message
  if (method !== sandboxMethods.load) return app.contentWindow?.postMessage(message, "*")
  if (app.isConnected || !isJsonObject(params)) return
  app.srcdoc = stringOrEmpty(params["html"])
  document.body.append(app)
}

addEventListener("message", ({ data, origin, source }: MessageEvent<unknown>) => {
  if (source === parent && origin === page) return receive(parseJson(stringOrEmpty(data)))
  if (app.contentWindow === null || source !== app.contentWindow || !isJsonObject(data)) return
  if (!stringOrEmpty(data["method"]).startsWith(sandboxMethods.prefix)) toPage(data)
})

if (parent !== window && page !== "") toPage({ jsonrpc: "2.0", method: sandboxMethods.ready, params: {} })
