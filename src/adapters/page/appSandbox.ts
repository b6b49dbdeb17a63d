import { readFile } from "node:fs/promises"
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { networkInterfaces } from "node:os"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { ListenError } from "../../application/ports/Transport.ts"
import { parseJson } from "../../domain/json.ts"
import { formatAppPolicy, parseAppDomains } from "../../domain/page/apps/appDomains.ts"
import { isLoopbackHost } from "../http/hostAccess.ts"
import { cannot, listen, makeHttpServer } from "../http/httpServer.ts"
import { SharedPort } from "../http/SharedPort.ts"

/** The file of the built page that frames an app. */
const sandboxFile = "sandbox.html"

/** Each app takes one request. */
const maxConnections = 64

/** In milliseconds. */
const timeouts = { headersTimeout: 5000, requestTimeout: 5000, connectionsCheckingInterval: 1000, idleTimeout: 5000 }

/** Devices and further powers that no app gets. */
const permissionsPolicy = [
  "camera clipboard-read clipboard-write display-capture fullscreen geolocation hid",
  "microphone midi payment publickey-credentials-get serial usb"
]
  .flatMap((features) => features.split(" "))
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

/** Attempts to find a port that is free at all addresses. */
const maxAttempts = 8

/** The wildcard addresses, and what each covers. */
const covered: { readonly [address: string]: ReadonlyArray<string> } = {
  "0.0.0.0": ["127.0.0.1"],
  "::": ["127.0.0.1", "::1"]
}

const hasLoopback6 = (): boolean =>
  Object.values(networkInterfaces()).some((addresses = []) => addresses.some(({ address }) => address === "::1"))

/** The addresses beside this one, to which browsers may resolve the loopback origins: no other user may listen there. */
const furtherAddresses = ({ address }: AddressInfo): ReadonlyArray<string> =>
  ["127.0.0.1", ...(hasLoopback6() ? ["::1"] : [])].filter(
    (other) => other !== address && covered[address]?.includes(other) !== true
  )

const isOrigin = (text: string): boolean => /^https?:\/\//.test(text) && URL.parse(text)?.origin === text

export interface AppSandboxOptions {
  /** The folder with the built page. */
  readonly assets: string
  /** `127.0.0.1` by default. Without `origin` the sandbox also listens on the loopback addresses. */
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
  const answer = async ({ method, url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(url, "http://localhost")
    const page = searchParams.get("page") ?? ""
    if (pathname !== "/" || (method !== "GET" && method !== "HEAD") || !isOrigin(page)) {
      return void response.writeHead(404, headers).end()
    }
    const domains = parseAppDomains(parseJson(searchParams.get("csp") ?? ""))
    const html = await readFile(join(assets, sandboxFile))
    response.writeHead(200, {
      ...headers,
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": formatAppPolicy(domains, page)
    })
    response.end(html)
  }
  const serveAt = Effect.fnUntraced(function* (target: { readonly host: string; readonly port: number }) {
    const http = yield* makeHttpServer({ ...timeouts, maxConnections })
    http.on("request", (request, response) => {
      answer(request, response).catch(() => response.writeHead(503, headers).end())
    })
    return yield* listen(http, target, cannot("serve apps", ListenError))
  })
  const serveAddresses = Effect.gen(function* () {
    const first = yield* serveAt({ host, port: port ?? 0 })
    const others = origin === undefined ? furtherAddresses(first) : []
    yield* Effect.forEach(others, (other) => serveAt({ host: other, port: first.port }), { discard: true })
    return first.port
  })
  /** Listens on one port of all addresses, or on none. */
  const serveAll = Effect.gen(function* () {
    const scope = yield* Scope.fork(yield* Effect.scope)
    return yield* serveAddresses.pipe(
      Scope.provide(scope),
      Effect.onError(() => Scope.close(scope, Exit.void))
    )
  })
  const bound = yield* port === undefined
    ? Effect.catch(Effect.retry(serveAll, { times: maxAttempts - 1 }), ({ message: reason }) =>
        Effect.as(Effect.logWarning("apps are not shown", { reason }), undefined)
      )
    : (yield* SharedPort)?.servesApps === false
      ? Effect.succeed(port)
      : serveAll
  return {
    originFor: ({ host: pageHost = "" }) => {
      if (bound === undefined) return undefined
      if (origin !== undefined) return URL.parse(origin)?.host === pageHost ? undefined : origin
      const { hostname } = URL.parse(`http://${pageHost}`) ?? {}
      if (hostname === undefined || !isLoopbackHost(hostname)) return undefined
      // Another host than that of the page, since cookies do not know ports.
      return `http://${hostname === "localhost" ? "127.0.0.1" : "localhost"}:${bound}`
    }
  }
})
