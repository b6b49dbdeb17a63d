import type { HostedRoute, PackView } from "../../../application/packs/PackTable.ts"

const listTools = ({ name: pack, status }: PackView, routes: ReadonlyArray<HostedRoute>) =>
  status._tag !== "Ready"
    ? []
    : status.tools.map(({ description, inputSchema, name }) => {
        const hosted = routes.find(({ route }) => route.tool === name)
        return {
          name,
          description,
          inputSchema,
          pack,
          ...(hosted !== undefined && { endpoint: hosted.route.endpoint })
        }
      })

const describePack = ({ description, name, status, usage }: PackView, routes: ReadonlyArray<HostedRoute>) => ({
  name,
  description,
  usage,
  status: status._tag.toLowerCase(),
  ...(status._tag === "Failed" && { reason: status.reason }),
  warnings: status._tag === "Ready" ? status.warnings : [],
  routes: routes.map(({ route: { endpoint, tool, useForm } }) => ({ endpoint, tool, useForm }))
})

/** Makes the body of `GET /tools`: all tools and the status of every pack. A tool without a route has no endpoint. */
export const makeToolListing = (packs: ReadonlyArray<PackView>, routes: ReadonlyArray<HostedRoute>) => {
  const own = packs.map((view) => ({ view, routes: routes.filter(({ pack }) => pack.name === view.name) }))
  return {
    tools: own.flatMap((pack) => listTools(pack.view, pack.routes)),
    packs: own.map((pack) => describePack(pack.view, pack.routes))
  }
}

export const countTools = (packs: ReadonlyArray<PackView>): number =>
  packs.reduce((count, { status }) => count + (status._tag === "Ready" ? status.tools.length : 0), 0)
