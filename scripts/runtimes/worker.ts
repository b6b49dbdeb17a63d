/** A worker of workerd; the path of a request names the part that runs. */
import { add, joinWithFunctions, useDomain } from "./portable.ts"

// Polling needs XMLHttpRequest, which workerd does not have.
const transports = ["websocket"] as const

/** Joins as a Computer as long as the response lasts, since workerd ends what a request has opened together with it. */
const offerFunctions = async (url: string, name: string): Promise<Response> => {
  await joinWithFunctions(url, name, transports)
  return new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(name)) }))
}

export default {
  fetch: async ({ url }: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(url)
    const server = searchParams.get("server") ?? ""
    const computer = searchParams.get("computer") ?? ""
    if (pathname === "/agent") return Response.json(await add(server, computer, transports))
    return pathname === "/functions" ? offerFunctions(server, computer) : Response.json(useDomain())
  }
}
