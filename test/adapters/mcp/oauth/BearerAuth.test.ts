import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { makeBearerAuth, type ObtainToken } from "../../../../src/adapters/mcp/oauth/BearerAuth.ts"
import { sessionError } from "../../../../src/application/ports/McpSession.ts"

const url = new URL("https://mcp.example/mcp")
const never: ObtainToken = () => Promise.reject(new Error("must not be asked"))
const replying =
  (...responses: ReadonlyArray<Response>): FetchLike =>
  async () => {
    const [response = Response.error(), ...rest] = responses
    responses = rest
    return response
  }

describe("bearer authentication", () => {
  it.each(["t0ken\n", "\nt0ken", " t0ken", "t0\0ken", "é", ""])(
    "rejects the token %j before a request",
    async (token) => {
      const requests: Array<unknown> = []
      const base: FetchLike = async (input) => {
        requests.push(input)
        return new Response()
      }
      const error: unknown = await makeBearerAuth(url, token, never).wrapFetch(base)(url).catch(String)
      assert.strictEqual(error, "Error: the access token contains characters that are invalid in a header")
      assert.deepStrictEqual(requests, [])
    }
  )

  it.each([400, 403, 404, 500])("redacts the token in a response with status %s", async (status) => {
    const response = new Response("you sent t0ken", { status })
    const redacted = await makeBearerAuth(url, "t0ken", never).wrapFetch(replying(response))(url)
    assert.deepStrictEqual([redacted.status, await redacted.text()], [status, "you sent <redacted>"])
  })

  it("redacts a token that a response repeats as it is and encoded for a URL", async () => {
    const token = "t0k+en/with=signs"
    const response = new Response(`${token} ${encodeURIComponent(token)}`, { status: 500 })
    const redacted = await makeBearerAuth(url, token, never).wrapFetch(replying(response))(url)
    assert.strictEqual(await redacted.text(), "<redacted> <redacted>")
  })

  it("sends no token to another origin, such as that of a redirect", async () => {
    const seen: Array<string | null> = []
    const send = makeBearerAuth(url, "t0ken", never).wrapFetch(async (_, init) => {
      seen.push(new Headers(init?.headers).get("authorization"))
      return new Response(null, { status: 202 })
    })
    const others = ["https://example/mcp", "http://mcp.example/mcp", "https://evil-mcp.example/mcp"]
    const more = ["https://mcp.example.evil.example/mcp", "https://mcp.example:444/mcp"]
    for (const target of ["https://mcp.example/other", ...others, ...more]) await send(target)
    assert.deepStrictEqual(seen, ["Bearer t0ken", null, null, null, null, null])
  })

  it("passes an error page unchanged when no token was sent", async () => {
    const response = new Response("failed", { status: 500 })
    assert.strictEqual(await makeBearerAuth(url, undefined, never).wrapFetch(replying(response))(url), response)
  })

  it("passes a redirect unchanged", async () => {
    const response = new Response("t0ken", { status: 302 })
    assert.strictEqual(await makeBearerAuth(url, "t0ken", never).wrapFetch(replying(response))(url), response)
  })

  it("passes the signal of a request on while it obtains a token", async () => {
    const signals: Array<AbortSignal | undefined> = []
    const obtain: ObtainToken = async (_, signal) => {
      signals.push(signal)
      return Result.fail(sessionError("unauthorized", "no"))
    }
    const send = makeBearerAuth(url, undefined, obtain).wrapFetch(async () => new Response(null, { status: 401 }))
    const { signal } = new AbortController()
    await send(url, { signal })
    await send(url)
    assert.deepStrictEqual(signals, [signal, undefined])
  })

  it("rejects a request after a second 401 without body", async () => {
    const bearer = makeBearerAuth(url, "old", async () => Result.succeed("new"))
    const send = bearer.wrapFetch(async () => new Response(null, { status: 401 }))
    assert.strictEqual((await send(url)).status, 401)
    const reported = sessionError("unauthorized", "HTTP 401")
    assert.notStrictEqual(bearer.explainFailure(reported), reported)
  })
})
