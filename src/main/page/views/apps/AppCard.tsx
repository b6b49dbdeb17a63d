import { useState } from "preact/hooks"
import { allAppDomains } from "../../../../domain/page/apps/appDomains.ts"
import { findApp, parseAppContent } from "../../../../domain/page/apps/findApp.ts"
import { appUriOf } from "../../../../domain/tools/appTools.ts"
import { mcpRequest } from "../../connection/callOfficeTool.ts"
import { sendCommand, useAction } from "../../connection/api.ts"
import { session } from "../../connection/store.ts"
import { LongText, Name } from "../../parts/Text.tsx"
import { type AppCallContext, AppFrame, type AppFrameProps } from "./AppFrame.tsx"

type AppParts = Pick<AppFrameProps, "app" | "content">

const decodeText = (base64: string): string | undefined => {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)))
  } catch {
    return undefined
  }
}

/** Fetches the app of a tool from its Computer. */
const loadApp = async ({ target, tool }: AppCallContext, signal: AbortSignal): Promise<AppParts> => {
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

/** An app. The operator starts one that may reach hosts. */
const LoadedApp = (app: AppFrameProps) => {
  const domains = allAppDomains(app.content.domains)
  const [isStarted, setStarted] = useState(domains.length === 0)
  if (isStarted) return <AppFrame {...app} />
  return (
    <>
      <p>The app may exchange data with these hosts, including the arguments and results that it sees:</p>
      <ul aria-label="Hosts of the app">
        {domains.map((domain) => (
          <li key={domain}>
            <Name of={domain} length={300} />
          </li>
        ))}
      </ul>
      <p>
        <button type="button" class="danger" onClick={() => setStarted(true)}>
          Start the app
        </button>
      </p>
    </>
  )
}

const LoadingApp = ({ call, origin }: { readonly call: AppCallContext; readonly origin: string }) => {
  const { error, isRunning: isLoading, reply: loaded, run } = useAction<AppParts>()
  /** Why the app has ended. */
  const [ended, setEnded] = useState<string>()
  const load = (): void => {
    setEnded(undefined)
    run((signal) => loadApp(call, signal))
  }
  if (isLoading) return <p role="status">Loading the app</p>
  if (loaded !== undefined && ended === undefined)
    return <LoadedApp origin={origin} {...loaded} call={call} onStop={setEnded} />
  const reason = error === undefined ? ended : `It cannot be shown: ${error.message}`
  return (
    <>
      {reason !== undefined && (
        <div role="status">
          <LongText text={reason} />
        </div>
      )}
      <p>
        <button type="button" onClick={load}>
          Show the app
        </button>
      </p>
    </>
  )
}

/** The app of a tool for a call, if the tool has one. */
export const AppCard = (call: AppCallContext) => {
  if (appUriOf(call.tool.meta) === undefined) return null
  const { appOrigin: origin, mayCall } = session.value ?? {}
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
