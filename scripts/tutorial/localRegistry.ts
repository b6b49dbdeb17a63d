import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A registry for npm on loopback: `a2c-smcp` is the packed archive, and all other packages are those of `upstream`. */
export interface LocalRegistry extends AsyncDisposable {
  readonly url: string
}

const sendOfUpstream = async (url: string, { headers }: IncomingMessage, reply: ServerResponse): Promise<void> => {
  const response = await fetch(url, { headers: { accept: headers.accept ?? "*/*" } })
  reply.writeHead(response.status, { "content-type": response.headers.get("content-type") ?? "application/json" })
  reply.end(Buffer.from(await response.arrayBuffer()))
}

/** Starts the registry. npm installs documented commands from it as they are written, before a version is published. */
export const startLocalRegistry = async (archive: string, upstream: string): Promise<LocalRegistry> => {
  const manifest = JSON.parse(
    execFileSync("tar", ["--extract", "--to-stdout", "--file", archive, "package/package.json"], { encoding: "utf8" })
  ) as { readonly name: string; readonly version: string }
  const { name, version } = manifest
  const bytes = readFileSync(archive)
  const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`
  const server = createServer((request, reply) => {
    const path = request.url ?? "/"
    if (path === `/${name}/-/${name}-${version}.tgz`) return void reply.end(bytes)
    if (path === `/${name}`) {
      const dist = { integrity, tarball: `${url}/${name}/-/${name}-${version}.tgz` }
      const versions = { [version]: { ...manifest, dist } }
      return void reply.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }))
    }
    sendOfUpstream(new URL(path, upstream).href, request, reply).catch((error: unknown) =>
      reply.writeHead(502).end(String(error))
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
