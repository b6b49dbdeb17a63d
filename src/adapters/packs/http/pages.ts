import { Effect, SynchronizedRef } from "effect"
import type { HostedRoute, PackHost, PackView } from "../../../application/packs/PackHost.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { openApi } from "../../../domain/packs/openapi.ts"
import { version } from "../../../version.ts"
import { countTools, listingOf } from "./listing.ts"
import { jsonReply, type Reply } from "./reply.ts"

/** What can be called now, as an OpenAPI document. */
const documentOf = (
  packs: ReadonlyArray<PackView>,
  routes: ReadonlyArray<HostedRoute>,
  isGuarded: boolean
): JsonObject =>
  openApi(
    { version, isGuarded },
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

/** Something to look at beside the tools. */
export interface Page {
  /** Only who has the key may see it. */
  readonly guarded: boolean
  readonly reply: Effect.Effect<Reply>
}

/** The page of a document as long as the document stays the same; it is made by who looks first. */
const makeDocs = Effect.fnUntraced(function* (document: Effect.Effect<JsonObject>) {
  const made = yield* SynchronizedRef.make<{ readonly of: string; readonly reply: Reply } | undefined>(
    undefined
  )
  const docs: Effect.Effect<Reply> = Effect.flatMap(document, (current) =>
    SynchronizedRef.modifyEffect(
      made,
      Effect.fnUntraced(function* (before) {
        const of = JSON.stringify(current)
        if (before?.of === of) return [before.reply, before] as const
        // What makes it is large, and few who serve tools need it.
        const { makeDocsPage } = yield* Effect.promise(() => import("./docsPage.ts"))
        const reply = yield* makeDocsPage(current)
        return [reply, { of, reply }] as const
      })
    )
  )
  return { docs }
})

/** Everything that a server of tools, guarded by a key or not, shows by GET, by its path. */
export const makePages = Effect.fnUntraced(function* (host: PackHost["Service"], isGuarded: boolean) {
  const document = Effect.map(host.packs, (packs) => documentOf(packs, host.routes(), isGuarded))
  const { docs } = yield* makeDocs(document)
  const open = (reply: Effect.Effect<Reply>): Page => ({ guarded: false, reply })
  return new Map([
    [
      "/",
      open(
        Effect.map(host.packs, (packs) =>
          jsonReply(200, { message: "The tool server is up", version, tools_count: countTools(packs) })
        )
      )
    ],
    ["/health", open(Effect.succeed(jsonReply(200, { status: "healthy" })))],
    [
      "/tools",
      {
        guarded: true,
        reply: Effect.map(host.packs, (packs) => jsonReply(200, listingOf(packs, host.routes())))
      }
    ],
    ["/openapi.json", open(Effect.map(document, (current) => jsonReply(200, current)))],
    ["/docs", open(docs)],
    // Browsers ask for it by themselves, and say so where there is none.
    ["/favicon.ico", open(Effect.succeed({ status: 204, headers: {}, body: "" }))]
  ])
})
