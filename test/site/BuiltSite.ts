import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { extname, join } from "node:path"
import { promisify } from "node:util"

const run = promisify(execFile)

const folder = "node_modules/.cache/site"

/** The path of the site on its host. */
export const base = "/a2c-smcp/"

const types: { readonly [extension: string]: string } = {
  ".css": "text/css",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".png": "image/png",
  ".svg": "image/svg+xml"
}

/** Builds the site, as `npm run site`. */
export const buildSite = (): Promise<unknown> =>
  run(process.execPath, ["site/node_modules/vitepress/bin/vitepress.js", "build", "site"])

/** The files of the built site with this ending, by their paths on the host. */
export const filesOfSite = (extension: string): ReadonlyMap<string, string> =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(extension))
      .map((name) => [`${base}${name.replaceAll("\\", "/")}`, readFileSync(join(folder, name), "utf8")])
  )

export const existsOnSite = (path: string): boolean =>
  path.startsWith(base) && existsSync(join(folder, path.slice(base.length).replace(/^$|\/$/, "$&index.html")))

/** Serves the built site, as a host of static files does. */
export const serveSite = async (): Promise<AsyncDisposable & { readonly origin: string }> => {
  const http = createServer(({ url = "" }, response) => {
    const path = decodeURIComponent(url.split("?", 1)[0] ?? "").replace(/\/$/, "/index.html")
    if (!existsOnSite(path)) return void response.writeHead(404).end()
    response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" })
    response.end(readFileSync(join(folder, path.slice(base.length))))
  })
  await new Promise<void>((listening) => void http.listen(0, "127.0.0.1", listening))
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections()
      http.close()
    }
  }
}
