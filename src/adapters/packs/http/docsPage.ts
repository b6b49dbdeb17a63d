import { createHash } from "node:crypto"
import { Effect } from "effect"
import { HttpRouter } from "effect/http"
import { HttpApi, HttpApiSwagger, OpenApi } from "effect/http-api"
import type { JsonObject } from "../../../domain/json.ts"
import type { Reply } from "./reply.ts"

/** The text of the one script of a page that runs: the other holds data. */
const inlineScript = (html: string): string => {
  const opening = "<script>"
  const start = html.indexOf(opening) + opening.length
  return html.slice(start, html.indexOf("</script", start))
}

/**
 * The page may run the one script it is made with, and ask nobody but its own server: not even what a pack says of its
 * tools could make it do more. Swagger UI writes styles into the page.
 */
const contentSecurityPolicy = (html: string): string =>
  [
    "default-src 'none'",
    `script-src 'sha256-${createHash("sha256").update(inlineScript(html)).digest("base64")}'`,
    "style-src 'unsafe-inline'",
    "img-src 'self' data:",
    "font-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")

/**
 * Makes the page that shows an OpenAPI document, with everything it needs in it (2 MB, Swagger UI as Effect brings it
 * along). Effect makes such pages for APIs of its own; this one has nothing but the document.
 */
export const makeDocsPage = (document: JsonObject): Effect.Effect<Reply> =>
  Effect.gen(function* () {
    const api = HttpApi.make("tools").annotate(OpenApi.Transform, () => ({ ...document }))
    const { handler } = yield* Effect.acquireRelease(
      Effect.sync(() => HttpRouter.toWebHandler(HttpApiSwagger.layer(api), { disableLogger: true })),
      ({ dispose }) => Effect.promise(dispose)
    )
    const html = yield* Effect.promise(async () =>
      (await handler(new Request("http://localhost/docs"))).text()
    )
    // A browser reads line ends so, and measures the script by what it has read.
    const body = html.replace(/\r\n?/g, "\n")
    return {
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
  }).pipe(Effect.scoped)
