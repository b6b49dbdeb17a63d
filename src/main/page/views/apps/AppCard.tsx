import { useEffect, useRef, useState } from "preact/hooks"
import { allAppDomains } from "../../../../domain/page/apps/appDomains.ts"
import { type AppContent, findApp, parseAppContent, type ToolApp } from "../../../../domain/page/apps/findApp.ts"
import type { JsonObject } from "../../../../domain/json.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import { appUriOf } from "../../../../domain/tools/appTools.ts"
import { mcpRequest } from "../../connection/callOfficeTool.ts"
import { pageErrorOf, sendCommand } from "../../connection/api.ts"
import { session } from "../../connection/store.ts"
import { LongText, Name } from "../../parts/Text.tsx"
import { type AppCallContext, AppFrame, toAppResult } from "./AppFrame.tsx"

interface LoadedApp {
  readonly app: ToolApp
  readonly content: AppContent
}

type State =
  | { readonly _tag: "Offered" }
  | { readonly _tag: "Loading" }
  /** The app may reach other hosts, so the operator starts it. */
  | ({ readonly _tag: "Loaded" } & LoadedApp)
  | ({ readonly _tag: "Running" } & LoadedApp)
  | { readonly _tag: "Stopped"; readonly reason: string }

const decodeText = (base64: string): string | undefined => {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** Fetches the app of a tool from its Computer. */
const loadApp = async ({ target, tool }: AppCallContext, signal: AbortSignal): Promise<LoadedApp> => {
  const { computer, line, office } = target
  const command = { _tag: "SendMcpRequest", line, office, computer, method: "servers/list", params: {} } as const
  const app = findApp((await sendCommand(command, signal)).result, tool.name)
  if (app === undefined) throw new Error("The Computer does not tell the app of this tool.")
  const { server, uri } = app
  const read = await mcpRequest(target, { method: "resources/read", server, params: { uri } }, signal)
  const content = parseAppContent(read, decodeText)
  if (typeof content === "string") throw new Error(content)
  return { app, content }
}

const LoadingApp = ({ call, origin }: { readonly call: AppCallContext; readonly origin: string }) => {
  const [state, setState] = useState<State>({ _tag: "Offered" })
  const abort = useRef<AbortController>(undefined)
  useEffect(() => () => abort.current?.abort(), [])

  const load = async (): Promise<void> => {
    const controller = new AbortController()
    abort.current = controller
    setState({ _tag: "Loading" })
    const next = await loadApp(call, controller.signal).then(
      (loaded): State => ({
        _tag: allAppDomains(loaded.content.domains).length === 0 ? "Running" : "Loaded",
        ...loaded
      }),
      (error: unknown): State => ({ _tag: "Stopped", reason: `It cannot be shown: ${pageErrorOf(error).message}` })
    )
    if (!controller.signal.aborted) setState(next)
  }

  switch (state._tag) {
    case "Running":
      return (
        <AppFrame
          origin={origin}
          app={state.app}
          content={state.content}
          call={call}
          onStop={(reason) => setState({ _tag: "Stopped", reason })}
        />
      )
    case "Loaded":
      return (
        <>
          <p>The app may exchange data with these hosts, including the arguments and results that it sees:</p>
          <ul aria-label="Hosts of the app">
            {allAppDomains(state.content.domains).map((domain) => (
              <li key={domain}>
                <Name of={domain} length={300} />
              </li>
            ))}
          </ul>
          <p>
            <button type="button" class="danger" onClick={() => setState({ ...state, _tag: "Running" })}>
              Start the app
            </button>
          </p>
        </>
      )
    case "Loading":
      return <p role="status">Loading the app</p>
    case "Offered":
    case "Stopped":
      return (
        <>
          {state._tag === "Stopped" && (
            <div role="status">
              <LongText text={state.reason === "" ? "The app has ended." : state.reason} />
            </div>
          )}
          <p>
            <button type="button" onClick={() => void load()}>
              Show the app
            </button>
          </p>
        </>
      )
  }
}

interface AppCardProps {
  readonly target: AppCallContext["target"]
  readonly tool: Tool
  readonly params: JsonObject
  /** The result as the office has it. */
  readonly result: JsonObject
}

/** The app of a tool for a call, if the tool has one. */
export const AppCard = ({ params, result, target, tool }: AppCardProps) => {
  if (appUriOf(tool.meta) === undefined) return null
  const { appOrigin: origin, mayCall } = session.value ?? {}
  const { description, name, paramsSchema: inputSchema } = tool
  const call = { target, tool: { name, description, inputSchema }, params, result: toAppResult(result) }
  return (
    <section aria-label="App">
      <h2>App</h2>
      {mayCall !== true ? (
        <p class="note">This tool has an app. It needs the right agent for this office.</p>
      ) : origin === undefined ? (
        <p class="note">
          This tool has an app. Apps run at a second origin, which this page lacks: open it at a loopback address, or
          see <code>a2c server --app-origin</code>.
        </p>
      ) : (
        <LoadingApp call={call} origin={origin} />
      )}
    </section>
  )
}
