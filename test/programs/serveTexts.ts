import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname } from "node:path"
import { text } from "node:stream/consumers"
import { Effect } from "effect"

const types: { readonly [extension: string]: string } = { ".js": "text/javascript", ".txt": "text/plain" }

/**
 * Serves texts by their paths, such as `/page.js`, until the scope closes; gives the origin. Those without a known
 * extension are pages. `PUT` stores another text.
 */
export const serveTexts = (texts: { readonly [path: string]: string }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const served = new Map(Object.entries(texts))
      const http = createServer(async (request, response) => {
        const { pathname } = new URL(request.url ?? "", "http://localhost")
        if (request.method === "PUT") served.set(pathname, await text(request))
        const type = types[extname(pathname)] ?? "text/html"
        const body = served.get(pathname)
        response.writeHead(body === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` }).end(body)
      })
      await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
      return { http, origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}` }
    }),
    ({ http }) =>
      Effect.sync(() => {
        http.close()
        http.closeAllConnections()
      })
  ).pipe(Effect.map(({ origin }) => origin))
