import { Effect, SynchronizedRef } from "effect"
import type { PackHost } from "../../../application/packs/PackHost.ts"
import type { HostedRoute, PackView } from "../../../application/packs/PackTable.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { makeOpenApiDocument } from "../../../domain/packs/openapi/openApiDocument.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import { countTools, makeToolListing } from "./listing.ts"
import { jsonReply, type Reply } from "./reply.ts"

const makeDocument = (
  packs: ReadonlyArray<PackView>,
  routes: ReadonlyArray<HostedRoute>,
  requiresKey: boolean
): JsonObject =>
  makeOpenApiDocument(
    { version: packageVersion, requiresKey },
    packs.flatMap(({ description, name, status, usage }) =>
      status._tag !== "Ready"
        ? []
        : [
            {
              name,
              description,
              usage,
              tools: status.tools,
              routes: routes.filter(({ pack }) => pack.name === name).map(({ route }) => route)
            }
          ]
    )
  )

export interface Page {
  readonly requiresKey: boolean
  readonly reply: Effect.Effect<Reply>
}

/** Caches the page until the document changes. */
const makeDocsCache = Effect.fnUntraced(function* (document: Effect.Effect<JsonObject>) {
  const cache = yield* SynchronizedRef.make<{ readonly of: string; readonly reply: Reply } | undefined>(undefined)
  const docs: Effect.Effect<Reply> = Effect.flatMap(document, (current) =>
    SynchronizedRef.modifyEffect(
      cache,
      Effect.fnUntraced(function* (before) {
        const of = JSON.stringify(current)
        if (before?.of === of) return [before.reply, before] as const
        // The module is large, and most servers never show the page.
        const { makeDocsPage } = yield* Effect.promise(() => import("./docsPage.ts"))
        const reply = yield* makeDocsPage(current)
        return [reply, { of, reply }] as const
      })
    )
  )
  return { docs }
})

/** Makes all pages that the server answers by GET, by path. */
export const makePages = Effect.fnUntraced(function* (host: PackHost["Service"], requiresKey: boolean) {
  const document = Effect.map(host.packs, (packs) => makeDocument(packs, host.routes(), requiresKey))
  const { docs } = yield* makeDocsCache(document)
  const publicPage = (reply: Effect.Effect<Reply>): Page => ({ requiresKey: false, reply })
  return new Map([
    [
      "/",
      publicPage(
        Effect.map(host.packs, (packs) =>
          jsonReply(200, {
            message: "The tool server is up",
            version: packageVersion,
            tools_count: countTools(packs)
          })
        )
      )
    ],
    ["/health", publicPage(Effect.succeed(jsonReply(200, { status: "healthy" })))],
    [
      "/tools",
      {
        requiresKey: true,
        reply: Effect.map(host.packs, (packs) => jsonReply(200, makeToolListing(packs, host.routes())))
      }
    ],
    ["/openapi.json", publicPage(Effect.map(document, (current) => jsonReply(200, current)))],
    ["/docs", publicPage(docs)],
    // Browsers request it unasked, and log an error for 404.
    ["/favicon.ico", publicPage(Effect.succeed({ status: 204, headers: {}, body: "" }))]
  ])
})
