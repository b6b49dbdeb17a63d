/** Hands out tokens for pages. */
import { createServer } from "node:http"
import { signMemberToken } from "a2c-smcp/promise"

const key = process.env["A2C_JWT_SECRET"] ?? ""

/** The user of a session of your application. */
declare const signedInUser: (cookie: string | undefined) => string | undefined

createServer(async (request, response) => {
  const user = signedInUser(request.headers.cookie)
  if (request.method !== "POST" || user === undefined) return response.writeHead(403).end()
  const { token } = await signMemberToken({ key, office: `office-of-${user}`, name: "page" })
  return response.setHeader("cache-control", "no-store").end(token)
}).listen(8080, "127.0.0.1")
