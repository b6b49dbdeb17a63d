import type { Agent } from "node:http"

export interface PlainResponse {
  readonly status: number
  readonly text: string
}

/** Characters of a response; the pages of a Server are smaller. */
const maxTextLength = 4 * 1024 * 1024

type Headers = { readonly [name: string]: string }

const requestOnNode = (url: URL, headers: Headers, agent: Agent, signal: AbortSignal): Promise<PlainResponse> =>
  new Promise((resolve, reject) => {
    const { request } = process.getBuiltinModule(url.protocol === "https:" ? "node:https" : "node:http")
    request(url, { headers, agent, signal }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => {
        text += chunk
        if (text.length > maxTextLength) response.destroy(new Error("the response is too long"))
      })
      response.on("error", reject)
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on("error", reject)
      .end()
  })

/** Sends one GET request; follows no redirect. On Node it uses the agent, and with it the trusted authorities. */
export const plainRequest = async (
  url: URL,
  headers: Headers,
  agent: Agent | undefined,
  signal: AbortSignal
): Promise<PlainResponse> => {
  if (agent !== undefined) return requestOnNode(url, headers, agent, signal)
  const response = await fetch(url, { signal, redirect: "manual", headers })
  return { status: response.status, text: await response.text() }
}
