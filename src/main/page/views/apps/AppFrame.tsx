import { useEffect, useRef, useState } from "preact/hooks"
import type { JsonObject } from "../../../../domain/json.ts"
import type { Tool } from "../../../../domain/model/Tool.ts"
import type { AppContent, ToolApp } from "../../../../domain/page/apps/findApp.ts"
import type { PageCallRequest } from "../../../../domain/page/PageCommand.ts"
import { callToolOnce, mcpRequest } from "../../connection/callOfficeTool.ts"
import { session } from "../../connection/store.ts"
import { ConfirmDialog } from "../../parts/CommandButton.tsx"
import { SmallButton } from "../../parts/controls.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"
import { CallApprovals } from "../inbox/CallApprovals.tsx"
import { appHasEnded, AppRequestFailed, makeAppBridge } from "./appBridge.ts"

/** The time in milliseconds in which the sandbox must answer, and in which an app may end. */
const loadTimeout = 10_000
const teardownTimeout = 1_000

/** The largest height of a frame in pixels, as in the style sheet. */
const maxHeight = 1_200

/** The latest calls and failures of an app that are listed. */
const maxActivities = 20

/** The call whose app is shown, with its result as the office has it. */
export interface AppCallContext {
  readonly target: Pick<PageCallRequest, "line" | "office" | "computer" | "timeout">
  readonly tool: Tool
  readonly params: JsonObject
  readonly result: JsonObject
}

export interface AppFrameProps {
  readonly origin: string
  readonly app: ToolApp
  readonly content: AppContent
  readonly call: AppCallContext
  readonly onStop: (reason: string) => void
}

/** A result of the office as MCP has it. */
const toAppResult = ({ meta, ...rest }: JsonObject): JsonObject => ({ ...rest, _meta: meta })

/** Describes the page to the app. */
const contextOf = ({ description, name, paramsSchema: inputSchema }: Tool, width: number): JsonObject => {
  const isDark = matchMedia("(prefers-color-scheme: dark)").matches
  return {
    toolInfo: { tool: { name, description, inputSchema } },
    theme: document.documentElement.style.colorScheme || (isDark ? "dark" : "light"),
    displayMode: "inline",
    availableDisplayModes: ["inline"],
    containerDimensions: { maxHeight, width },
    locale: navigator.language,
    platform: "web"
  }
}

/** Loads the app into its frame, and serves its requests. */
const useApp = ({ app, call, content, onStop, origin }: AppFrameProps) => {
  const frame = useRef<HTMLIFrameElement>(null)
  const [activities, setActivities] = useState<ReadonlyArray<readonly [request: string, outcome: string]>>([])
  /** The link that the app asks to open. */
  const [link, setLink] = useState<{ readonly url: URL; readonly answer: (isPermitted: boolean) => void }>()
  const bridge = useRef<ReturnType<typeof makeAppBridge>>(undefined)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    // The calls of the app end with the app, not with the view.
    const abort = new AbortController()
    const onEnd = (reason: string): void => {
      abort.abort()
      onStop(reason)
    }
    const note = (request: string, outcome: string): void =>
      setActivities((before) => [...before, [request, outcome] as const].slice(-maxActivities))
    let isAsking = false
    const made = makeAppBridge({
      app,
      content,
      call: { params: call.params, result: toAppResult(call.result) },
      context: contextOf(call.tool, element.clientWidth),
      send: (message) => element.contentWindow?.postMessage(JSON.stringify(message), origin),
      callTool: async (tool, params) => {
        const result = toAppResult(await callToolOnce({ ...call.target, tool, params }, abort.signal))
        note(tool, result["isError"] === true ? "the tool returned an error" : "the tool succeeded")
        return result
      },
      readResource: (uri) =>
        mcpRequest(call.target, { method: "resources/read", server: app.server, params: { uri } }, abort.signal),
      openLink: async (url) => {
        if (isAsking) throw new AppRequestFailed("Another link is asked about")
        isAsking = true
        const isPermitted = await new Promise<boolean>((answer) => setLink({ url, answer }))
        isAsking = false
        setLink(undefined)
        if (!isPermitted) throw new AppRequestFailed("The operator did not open the link")
        window.open(url, "_blank", "noopener,noreferrer")
      },
      onLoad: () => clearTimeout(timer),
      onHeight: (height) => void (element.style.height = `${height}px`),
      onFailure: note,
      onEnd
    })
    bridge.current = made
    const timer = setTimeout(() => onEnd(`It cannot be loaded: this browser does not reach ${origin}.`), loadTimeout)
    const onMessage = ({ data, origin: from, source }: MessageEvent<unknown>): void => {
      if (source === element.contentWindow && from === origin) made.receive(data)
    }
    addEventListener("message", onMessage)
    const parameters = new URLSearchParams({ page: location.origin, csp: JSON.stringify(content.domains) })
    element.src = `${origin}/?${parameters}`
    return () => {
      clearTimeout(timer)
      removeEventListener("message", onMessage)
    }
  }, [])
  return { activities, frame, link, tearDown: () => bridge.current?.tearDown() }
}

/** An app in its frame, the calls that it makes, and the links that it asks to open. */
export const AppFrame = (props: AppFrameProps) => {
  const { app, call, onStop } = props
  const { target } = call
  const { activities, frame, link, tearDown } = useApp(props)
  const stop = (): void => {
    tearDown()
    setTimeout(() => frame.current !== null && onStop(appHasEnded), teardownTimeout)
  }
  return (
    <>
      <p class="note">
        An app of an MCP server, in a sandbox. It may call the tools below as you. Do not enter secrets.{" "}
        <SmallButton onPress={stop}>Stop the app</SmallButton>
      </p>
      <iframe
        ref={frame}
        class="app"
        title={visibleLine(`App of the tool ${call.tool.name}`)}
        sandbox="allow-scripts allow-same-origin allow-forms"
        allow=""
        referrerpolicy="no-referrer"
      />
      <p class="note">
        Tools of the app: <Name of={[...app.tools.values()].join(", ") || "none"} length={4_000} />
      </p>
      <CallApprovals
        isShown={({ call: { agent, computer, line, office } }) =>
          agent === `operator:${session.value?.subject ?? ""}` &&
          [computer, line, office].join() === [target.computer, target.line, target.office].join()
        }
      />
      {activities.length > 0 && (
        <ul class="note" aria-label="Calls of the app">
          {activities.map(([request, outcome], index) => (
            <li key={index}>
              <Name of={request} />: <Name of={outcome} length={300} />
            </li>
          ))}
        </ul>
      )}
      {link !== undefined && (
        <ConfirmDialog
          title="Open this link of the app?"
          action="Open"
          onConfirm={() => link.answer(true)}
          onClose={() => link.answer(false)}
        >
          <p>
            Host: <Name of={link.url.host} length={300} />
          </p>
          <LongText text={link.url.href} code />
        </ConfirmDialog>
      )}
    </>
  )
}
