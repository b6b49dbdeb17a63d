import { readFile } from "node:fs/promises"
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { ListenError } from "../../application/ports/Transport.ts"
import { parseJson } from "../../domain/json.ts"
import { formatAppPolicy, parseAppDomains } from "../../domain/page/apps/appDomains.ts"
import { isLoopbackHost } from "../http/hostAccess.ts"
import { listen, makeHttpServer } from "../http/httpServer.ts"

/** The file of the built page that frames an app. */
const sandboxFile = "sandbox.html"

/** Each app takes one request, and the page does not change while the Server runs. */
const maxConnections = 64

/** In milliseconds. */
const timeouts = { headersTimeout: 5000, requestTimeout: 5000, connectionsCheckingInterval: 1000, idleTimeout: 5000 }

/** Devices and further powers that no app gets. */
const permissionsPolicy = [
  "camera",
  "clipboard-read",
  "clipboard-write",
  "display-capture",
  "fullscreen",
  "geolocation",
  "hid",
  "microphone",
  "midi",
  "payment",
  "publickey-credentials-get",
  "serial",
  "usb"
]
  .map((feature) => `${feature}=()`)
  .join(", ")

const headers = {
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "Permissions-Policy": permissionsPolicy,
  // Names of hosts would carry data out of the app.
  "X-DNS-Prefetch-Control": "off"
}

const isOrigin = (text: string): boolean => /^https?:\/\//.test(text) && URL.parse(text)?.origin === text

export interface AppSandboxOptions {
  /** The folder with the built page. */
  readonly assets: string
  /** `127.0.0.1` by default. */
  readonly host?: string
  /** A free port by default; without one that can be had, the page shows no apps. */
  readonly port?: number | undefined
  /** The origin by which browsers reach the sandbox through a proxy. */
  readonly origin?: string | undefined
}

/** The second origin of a page, for apps. */
export interface AppSandbox {
  /** The origin for a page at the `Host` of a request; none where it is not a separate one that the browser reaches. */
  readonly originFor: (headers: IncomingHttpHeaders) => string | undefined
}

/** The page's origin differs from this one in its host, since cookies do not know ports. */
const loopbackOrigin = (pageHost: string, port: number): string =>
  `http://${pageHost === "localhost" ? "127.0.0.1" : "localhost"}:${port}`

/**
 * Serves the page that frames apps, and nothing else, at another origin than the office page. Its policy has the domains that
 * the request names, and the app inherits it.
 */
export const serveAppSandbox = Effect.fnUntraced(function* ({
  assets,
  host = "127.0.0.1",
  origin,
  port
}: AppSandboxOptions): Effect.fn.Return<AppSandbox, ListenError, Scope.Scope> {
  const http = yield* makeHttpServer({ ...timeouts, maxConnections })
  let reading: Promise<string> | undefined

  const answer = async ({ method, url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(url, "http://localhost")
    const page = searchParams.get("page") ?? ""
    if (pathname !== "/" || (method !== "GET" && method !== "HEAD") || !isOrigin(page)) {
      return void response.writeHead(404, headers).end()
    }
    reading ??= readFile(join(assets, sandboxFile), "utf8")
    const domains = parseAppDomains(parseJson(searchParams.get("csp") ?? ""))
    const html = await reading
    response.writeHead(200, {
      ...headers,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": formatAppPolicy(domains, page)
    })
    response.end(html)
  }
  http.on("request", (request, response) => {
    answer(request, response).catch(() => {
      reading = undefined
      response.writeHead(503, headers).end()
    })
  })
  const listening = listen(
    http,
    { host, port: port ?? 0 },
    (reason) => new ListenError({ message: `Cannot serve apps on ${host}:${port ?? 0}: ${reason}` })
  )
  const bound = yield* Effect.catch(listening, (error) =>
    port === undefined
      ? Effect.as(Effect.logWarning("apps are not shown", { reason: error.message }), undefined)
      : Effect.fail(error)
  )
  return {
    originFor: ({ host: pageHost = "" }) => {
      if (bound === undefined) return undefined
      if (origin !== undefined) return URL.parse(origin)?.host === pageHost ? undefined : origin
      const { hostname } = URL.parse(`http://${pageHost}`) ?? {}
      return hostname !== undefined && isLoopbackHost(hostname) ? loopbackOrigin(hostname, bound.port) : undefined
    }
  }
})
