import type { RefObject } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import type { JsonObject } from "../../../../domain/json.ts"
import type { AppContent, ToolApp } from "../../../../domain/page/apps/findApp.ts"
import type { PageCallRequest } from "../../../../domain/page/PageCommand.ts"
import { callToolOnce, mcpRequest } from "../../connection/callOfficeTool.ts"
import { session } from "../../connection/store.ts"
import { ConfirmDialog } from "../../parts/CommandButton.tsx"
import { SmallButton } from "../../parts/controls.tsx"
import { LongText, Name } from "../../parts/Text.tsx"
import { visibleLine } from "../../parts/visibleText.ts"
import { CallApprovals } from "../inbox/CallApprovals.tsx"
import { AppRequestFailed, makeAppBridge } from "./appBridge.ts"

/** The time in milliseconds in which the sandbox must answer, and in which an app may end. */
const loadTimeout = 10_000
const teardownTimeout = 1_000

/** The heights of a frame in pixels. */
const height = { min: 80, first: 320, max: 1_200 } as const

/** The latest calls of an app that are listed. */
const maxActivities = 20

/** The call whose app is shown, with its result as MCP has it. */
export interface AppCallContext {
  readonly target: Pick<PageCallRequest, "line" | "office" | "computer" | "timeout">
  readonly tool: { readonly name: string; readonly description: string; readonly inputSchema: JsonObject }
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

/** A link that the app asks to open. */
interface LinkQuestion {
  readonly url: URL
  readonly answer: (isPermitted: boolean) => void
}

/** A result of the office as MCP has it. */
export const toAppResult = ({ meta, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  ...(meta !== undefined && { _meta: meta })
})

const sandboxUrl = (origin: string, { domains }: AppContent): string =>
  `${origin}/?${new URLSearchParams({ page: location.origin, csp: JSON.stringify(domains) })}`

const currentTheme = (): string => {
  const chosen = document.documentElement.style.colorScheme
  if (chosen !== "") return chosen
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
}

const contextOf = ({ tool }: AppCallContext, width: number): JsonObject => ({
  toolInfo: { tool },
  theme: currentTheme(),
  displayMode: "inline",
  availableDisplayModes: ["inline"],
  containerDimensions: { maxHeight: height.max, width },
  locale: navigator.language,
  platform: "web"
})

/** The calls that an app makes, and the link that it asks to open. */
const useAppRequests = ({ call: { target } }: AppFrameProps) => {
  const [activities, setActivities] = useState<ReadonlyArray<{ readonly tool: string; readonly outcome: string }>>([])
  const [link, setLink] = useState<LinkQuestion>()
  const open = useRef<LinkQuestion>(undefined)

  const ask = (question: LinkQuestion | undefined): void => {
    open.current = question
    setLink(question)
  }
  const note = (tool: string, outcome: string): void =>
    setActivities((before) => [...before, { tool, outcome }].slice(-maxActivities))

  const callTool = async (tool: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> => {
    try {
      const result = toAppResult(await callToolOnce({ ...target, tool, params }, signal))
      note(tool, result["isError"] === true ? "the tool returned an error" : "the tool succeeded")
      return result
    } catch (error) {
      note(tool, error instanceof Error ? error.message : String(error))
      throw error
    }
  }
  const openLink = async (url: URL): Promise<void> => {
    if (open.current !== undefined) throw new AppRequestFailed("Another link is asked about")
    const isPermitted = await new Promise<boolean>((answer) => ask({ url, answer }))
    ask(undefined)
    if (!isPermitted) throw new AppRequestFailed("The operator did not open the link")
    window.open(url, "_blank", "noopener,noreferrer")
  }
  return { activities, link, callTool, openLink, dismissLink: () => open.current?.answer(false) }
}

/** Loads the app into its frame, and connects the two. Gives the bridge. */
const useAppBridge = (
  frame: RefObject<HTMLIFrameElement | null>,
  { app, call, content, onStop, origin }: AppFrameProps,
  { callTool, openLink }: ReturnType<typeof useAppRequests>
) => {
  const bridge = useRef<ReturnType<typeof makeAppBridge>>(undefined)
  useEffect(() => {
    const element = frame.current
    if (element === null) return
    // The calls of the app end with the app, not with the view.
    const abort = new AbortController()
    const end = (reason: string): void => {
      abort.abort()
      onStop(reason)
    }
    const made = makeAppBridge({
      app,
      content,
      call,
      context: contextOf(call, element.clientWidth),
      send: (message) => element.contentWindow?.postMessage(JSON.stringify(message), origin),
      callTool: (tool, params) => callTool(tool, params, abort.signal),
      readResource: (uri) =>
        mcpRequest(call.target, { method: "resources/read", server: app.server, params: { uri } }, abort.signal),
      openLink,
      onHeight: (wanted) =>
        void (element.style.height = `${Math.min(height.max, Math.max(height.min, Math.ceil(wanted)))}px`),
      onTornDown: () => end(""),
      onViolation: end
    })
    bridge.current = made
    const onMessage = ({ data, origin: from, source }: MessageEvent<unknown>): void => {
      if (source === element.contentWindow && from === origin) made.receive(data)
    }
    addEventListener("message", onMessage)
    element.style.height = `${height.first}px`
    element.src = sandboxUrl(origin, content)
    const timer = setTimeout(() => {
      if (!made.isLoaded()) end(`It cannot be loaded: this browser does not reach ${origin}.`)
    }, loadTimeout)
    return () => {
      clearTimeout(timer)
      removeEventListener("message", onMessage)
      made.end()
    }
  }, [])
  return bridge
}

/** An app in its frame, the calls that it makes, and the links that it asks to open. */
export const AppFrame = (props: AppFrameProps) => {
  const { app, call, onStop } = props
  const { target } = call
  const frame = useRef<HTMLIFrameElement>(null)
  const requests = useAppRequests(props)
  const bridge = useAppBridge(frame, props, requests)
  const { activities, dismissLink, link } = requests

  const stop = (): void => {
    bridge.current?.tearDown()
    setTimeout(() => onStop(""), teardownTimeout)
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
        Tools of the app: {app.tools.size === 0 && "none"}
        {[...app.tools.values()].map((tool, index) => (
          <>
            {index > 0 && ", "}
            <Name of={tool} />
          </>
        ))}
      </p>
      <CallApprovals
        isShown={({ call: { agent, computer, line, office } }) =>
          agent === `operator:${session.value?.subject ?? ""}` &&
          [computer, line, office].join() === [target.computer, target.line, target.office].join()
        }
      />
      {activities.length > 0 && (
        <ul class="note" aria-label="Calls of the app">
          {activities.map(({ outcome, tool }, index) => (
            <li key={index}>
              <Name of={tool} />: <Name of={outcome} length={300} />
            </li>
          ))}
        </ul>
      )}
      {link !== undefined && (
        <ConfirmDialog
          title="Open this link of the app?"
          action="Open"
          onConfirm={() => link.answer(true)}
          onClose={dismissLink}
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
