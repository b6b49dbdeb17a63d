import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname } from "node:path"
import { Effect } from "effect"

const types: { readonly [extension: string]: string } = { ".js": "text/javascript", ".txt": "text/plain" }

/** Serves texts by their paths, such as `/page.js`, until the scope closes; gives the origin. Others are pages. */
export const serveTexts = (texts: { readonly [path: string]: string }) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const http = createServer(({ url = "" }, response) => {
        const { pathname } = new URL(url, "http://localhost")
        const text = texts[pathname]
        const type = types[extname(pathname)] ?? "text/html"
        response.writeHead(text === undefined ? 404 : 200, { "content-type": `${type}; charset=utf-8` }).end(text)
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
