import { must, type Verdict } from "../Surface.ts"
import { openTcp } from "./rawTcp.ts"

/** Statuses that indicate a fault of the server. */
const isOurFault = (status: number): boolean => status >= 500 && status !== 501 && status !== 505

/** Sends bytes on a new connection and checks the response, if any. */
export const sendRequest = async (url: string, bytes: Buffer): Promise<Verdict> => {
  const raw = await openTcp(url)
  raw.write(bytes)
  raw.end()
  const received = await raw.closed
  if (received === "") return "refused"
  const [, digits] = /^HTTP\/1\.1 (\d{3}) /.exec(received) ?? []
  must(digits !== undefined, `the response is not HTTP: ${JSON.stringify(received.slice(0, 100))}`)
  const status = Number(digits)
  must(!isOurFault(status), `the response is ${received.slice(0, 500)}`)
  return status < 400 ? "accepted" : "refused"
}

/** Encodes a request. */
export const requestOf = (
  line: string,
  headers: { readonly [name: string]: string } = {},
  body: string | Buffer = ""
): Buffer => {
  const bytes = Buffer.from(body)
  const all = {
    Host: "127.0.0.1",
    ...(bytes.length > 0 && { "Content-Length": String(bytes.length) }),
    ...headers
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`${line} HTTP/1.1\r\n${lines.join("")}\r\n`), bytes])
}
