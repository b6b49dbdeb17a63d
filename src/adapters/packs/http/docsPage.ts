import { hash } from "node:crypto"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiSwagger, OpenApi } from "effect/http-api"
import type { JsonObject } from "../../../domain/json.ts"
import type { HttpReply } from "../../http/messages.ts"

/**
 * Allows the inline script by its hash and requests to the same origin only, so descriptions of packs cannot inject
 * code. Swagger UI needs inline styles.
 */
const contentSecurityPolicy = (html: string): string => {
  // The executable script; the other one holds data.
  const [, script = ""] = /<script>(.*?)<\/script/s.exec(html) ?? []
  return [
    "default-src 'none'",
    `script-src 'sha256-${hash("sha256", script, "base64")}'`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

/** Makes a self-contained page for an OpenAPI document (2 MB, with Effect's Swagger UI). */
export const makeDocsPage = Effect.fnUntraced(function* (document: JsonObject) {
  const api = HttpApi.make("tools").annotate(OpenApi.Transform, () => ({ ...document }))
  const { handler } = yield* Effect.acquireRelease(
    Effect.sync(() => HttpRouter.toWebHandler(HttpApiSwagger.layer(api), { disableLogger: true })),
    ({ dispose }) => Effect.promise(dispose)
  )
  const html = yield* Effect.promise(async () => (await handler(new Request("http://localhost/docs"))).text())
  // Browsers normalize line ends before they hash the script.
  const body = html.replace(/\r\n?/g, "\n")
  const reply: HttpReply = {
    status: 200,
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": contentSecurityPolicy(body),
      "Cache-Control": "no-cache",
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff"
    },
    body
  }
  return reply
}, Effect.scoped)
