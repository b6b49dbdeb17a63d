import { Cache, Duration, Effect, Exit } from "effect"
import type { PackHost } from "../../../application/packs/PackHost.ts"
import type { PackView } from "../../../application/packs/PackTable.ts"
import { makeOpenApiDocument } from "../../../domain/packs/openapi/openApiDocument.ts"
import type { PackRoute } from "../../../domain/packs/PackManifest.ts"
import { packageVersion } from "../../../domain/packageVersion.ts"
import type { HttpReply } from "../../http/messages.ts"
import { emptyToolReply, toolJsonReply } from "./reply.ts"
import { asObject, parseJson } from "../../../domain/json.ts"

interface RoutedPack extends PackView {
  readonly routes: ReadonlyArray<PackRoute>
}

/** The tools of a pack; one without a route has no endpoint. */
const listTools = ({ name: pack, routes, status }: RoutedPack) =>
  status._tag !== "Ready"
    ? []
    : status.tools.map(({ description, inputSchema, name }) => {
        const route = routes.find(({ tool }) => tool === name)
        return { name, description, inputSchema, pack, ...(route && { endpoint: route.endpoint }) }
      })

const describePack = ({ description, name, routes, status, usage }: RoutedPack) => ({
  name,
  description,
  usage,
  status: status._tag.toLowerCase(),
  ...(status._tag === "Failed" && { reason: status.reason }),
  warnings: status._tag === "Ready" ? status.warnings : [],
  routes: routes.map(({ endpoint, tool, useForm }) => ({ endpoint, tool, useForm }))
})

/** The readers of a page: all, clients with the key, or also browsers, which ask their user for the key. */
export type PageReaders = "all" | "key" | "key_or_password"

/** Makes all pages that the server answers by GET, by path. */
export const makePages = Effect.fnUntraced(function* (
  host: PackHost["Service"],
  { publicDocs, requiresKey }: { readonly publicDocs: boolean; readonly requiresKey: boolean }
) {
  const packs = Effect.map(host.packs, (views) =>
    views.map((view): RoutedPack => {
      const own = host.routes().filter(({ pack }) => pack.name === view.name)
      return { ...view, routes: own.map(({ route }) => route) }
    })
  )
  const document = Effect.map(packs, (all) =>
    makeOpenApiDocument(
      { version: packageVersion, requiresKey },
      all.flatMap(({ status, ...pack }) => (status._tag === "Ready" ? [{ ...pack, tools: status.tools }] : []))
    )
  )
  /** The page of the last document, by the text of that document. */
  const docs = yield* Cache.makeWith(
    Effect.fnUntraced(function* (text: string) {
      // The module is large, and most servers never show the page.
      const { makeDocsPage } = yield* Effect.promise(() => import("./docsPage.ts"))
      return yield* makeDocsPage(asObject(parseJson(text)))
    }),
    { capacity: 1, timeToLive: (exit) => (Exit.isSuccess(exit) ? Duration.infinity : Duration.zero) }
  )
  const page = (reply: Effect.Effect<HttpReply>, readers: PageReaders = "all") => ({ readers, reply })
  const docsReaders = publicDocs ? "all" : "key_or_password"
  const status = Effect.map(packs, (all) => {
    const tools_count = all.flatMap(listTools).length
    return toolJsonReply(200, { message: "The tool server is up", version: packageVersion, tools_count })
  })
  const listing = Effect.map(packs, (all) =>
    toolJsonReply(200, { tools: all.flatMap(listTools), packs: all.map(describePack) })
  )
  const openApi = Effect.map(document, (current) => toolJsonReply(200, current))
  const docsPage = Effect.flatMap(document, (current) => Cache.get(docs, JSON.stringify(current)))
  return new Map([
    ["/", page(status)],
    ["/health", page(Effect.succeed(toolJsonReply(200, { status: "healthy" })))],
    ["/tools", page(listing, "key")],
    ["/openapi.json", page(openApi, docsReaders)],
    ["/docs", page(docsPage, docsReaders)],
    // Browsers request it unasked, and log an error for 404.
    ["/favicon.ico", page(Effect.succeed(emptyToolReply))]
  ])
})
