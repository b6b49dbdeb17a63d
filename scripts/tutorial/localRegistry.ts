import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** A registry for npm on loopback: it has the packed archives, and all other packages are those of `upstream`. */
export interface LocalRegistry extends AsyncDisposable {
  readonly url: string
}

const sendOfUpstream = async (url: string, { headers }: IncomingMessage, reply: ServerResponse): Promise<void> => {
  const response = await fetch(url, { headers: { accept: headers.accept ?? "*/*" } })
  reply.writeHead(response.status, { "content-type": response.headers.get("content-type") ?? "application/json" })
  reply.end(Buffer.from(await response.arrayBuffer()))
}

/** The manifest in a packed archive. */
export const readManifest = (archive: string) =>
  JSON.parse(
    execFileSync("tar", ["--extract", "--to-stdout", "--file", archive, "package/package.json"], { encoding: "utf8" })
  ) as { readonly name: string; readonly version: string; readonly bin?: object }

/** The replies about an archive, by their path. */
const repliesOf = (archive: string, origin: string): ReadonlyArray<readonly [path: string, body: Buffer | string]> => {
  const manifest = readManifest(archive)
  const { name, version } = manifest
  const bytes = readFileSync(archive)
  const path = `/${name}/-/${name}-${version}.tgz`
  const dist = {
    integrity: `sha512-${createHash("sha512").update(bytes).digest("base64")}`,
    tarball: `${origin}${path}`
  }
  const about = { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } }
  return [
    [path, bytes],
    [`/${name}`, JSON.stringify(about)]
  ]
}

/** Starts the registry. npm installs documented commands from it as they are written, before a version is published. */
export const startLocalRegistry = async (archives: ReadonlyArray<string>, upstream: string): Promise<LocalRegistry> => {
  const replies = new Map<string, Buffer | string>()
  const server = createServer((request, reply) => {
    const path = request.url ?? "/"
    const known = replies.get(path)
    if (known !== undefined) return void reply.end(known)
    sendOfUpstream(new URL(path, upstream).href, request, reply).catch((error: unknown) =>
      reply.writeHead(502).end(String(error))
    )
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const [path, body] of archives.flatMap((archive) => repliesOf(archive, url))) replies.set(path, body)
  return {
    url,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, "close")
    }
  }
}
