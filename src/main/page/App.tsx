import type { ComponentType } from "preact"
import { useEffect, useLayoutEffect, useRef } from "preact/hooks"
import { formatCount, formatDuration, formatNumberOf } from "../../domain/text/format.ts"
import {
  officeHash,
  officesHash,
  type OfficeRoute,
  type OfficeViewName,
  type PageRoute
} from "../../domain/page/route.ts"
import { signOut, useAction } from "./connection/api.ts"
import { disconnect } from "./connection/connect.ts"
import { clearInputs, useSetting } from "./connection/storage.ts"
import { pageCalls } from "./connection/pageCalls.ts"
import * as store from "./connection/store.ts"
import { isDrawerOpen } from "./connection/store.ts"
import { Icon } from "./parts/Icon.tsx"
import { SmallButton, Select } from "./parts/controls.tsx"
import { ErrorText } from "./parts/missing.tsx"
import { Sparkline } from "./parts/Table.tsx"
import { Name } from "./parts/Text.tsx"
import { truncate, visibleLine } from "./parts/visibleText.ts"
import { CallsView } from "./views/calls/CallsView.tsx"
import { DesktopView } from "./views/DesktopView.tsx"
import { DocumentsView } from "./views/DocumentsView.tsx"
import { failedServers, NeedsDrawer, shownApprovals } from "./views/inbox/NeedsDrawer.tsx"
import { OverviewView } from "./views/overview/OverviewView.tsx"
import { SettingsView } from "./views/SettingsView.tsx"
import { OfficesView } from "./views/OfficesView.tsx"
import { PromptsView } from "./views/PromptsView.tsx"
import { SignIn } from "./views/SignIn.tsx"
import { ToolsView } from "./views/tools/ToolsView.tsx"

/** The views of an office. */
const views: {
  readonly [View in OfficeViewName]: { readonly title: string; readonly View: ComponentType<OfficeRoute> }
} = {
  overview: { title: "Overview", View: OverviewView },
  calls: { title: "Activity", View: CallsView },
  tools: { title: "Tools", View: ToolsView },
  prompts: { title: "Prompts", View: PromptsView },
  desktop: { title: "Windows", View: DesktopView },
  documents: { title: "Documents", View: DocumentsView },
  settings: { title: "Settings", View: SettingsView }
}

/** The places of an office by what people do there, each with its views. */
const places: ReadonlyArray<readonly [title: string, views: readonly [OfficeViewName, ...Array<OfficeViewName>]]> = [
  ["Overview", ["overview"]],
  ["Activity", ["calls"]],
  ["Explore", ["tools", "prompts", "desktop", "documents"]],
  ["Settings", ["settings"]]
]

/** The length of an office id in the title of the page. */
const maxTitleLength = 60

/** The title of the page, behind the number of open approvals of all offices. */
const titleOf = (current: PageRoute, approvals: number): string => {
  const title =
    current._tag === "Offices"
      ? "Offices · A2C-SMCP"
      : `${visibleLine(truncate(current.address.office, maxTitleLength))} · ${views[current.view].title} · A2C-SMCP`
  return approvals === 0 ? title : `(${formatCount(approvals)}) ${title}`
}

/** The words for the states of the connection, and their classes. */
const connectionTexts: { readonly [State in store.ConnectionState]: readonly [text: string, kind: string] } = {
  Connecting: ["Connecting", "waiting"],
  SignIn: ["Not signed in", ""],
  Connected: ["Connected", "good"],
  Reconnecting: ["Reconnecting", "waiting"],
  Unavailable: ["Server unavailable, trying again", "bad"]
}

const SignOutButton = () => {
  const { error, run } = useAction<void>()
  const end = async () => {
    await signOut()
    clearInputs()
    disconnect()
  }
  return (
    <>
      <SmallButton onPress={() => run(end)}>Sign out</SmallButton>
      {error && <ErrorText error={error} isAlert />}
    </>
  )
}

const themes = ["system", "light", "dark"] as const

/** Chooses the colours of the whole page, and keeps the choice; `system` follows the preference of the browser. */
const ThemeSwitch = () => {
  const [stored, choose] = useSetting("a2c.theme")
  const theme = themes.find((one) => one === stored) ?? "system"
  useLayoutEffect(() => {
    document.documentElement.style.colorScheme = theme === "system" ? "" : theme
  }, [theme])
  return (
    <label>
      <span class="theme-label">Colours</span>{" "}
      <Select
        attributes={{ class: "small" }}
        value={theme}
        options={themes.map((one) => [one, one])}
        onSelect={choose}
      />
    </label>
  )
}

const StatusLine = () => {
  const state = store.connection.value
  const [text, kind] = connectionTexts[state]
  const { droppedEvents, omittedCalls } = store.pageState.value
  const { requiresSignIn = false, subject = "" } = store.session.value ?? {}
  return (
    <footer class="row">
      <span role="status" class={`dot ${kind} connection-${state}`}>
        {text}
      </span>
      {omittedCalls > 0 && <span>{formatCount(omittedCalls)} calls were counted, but are not listed</span>}
      {droppedEvents > 0 && (
        <span class="bad">{formatCount(droppedEvents)} events were lost, because this page was too slow</span>
      )}
      <span class="grow" />
      {requiresSignIn && (
        <>
          <span class="subject">
            <Name of={subject} length={60} />
          </span>
          <SignOutButton />
        </>
      )}
      <ThemeSwitch />
    </footer>
  )
}

/** The calls of this page that run, from every view. */
const RunningCalls = () => {
  const running = [...pageCalls.value].filter(([, { end }]) => end === undefined)
  if (running.length === 0) return null
  return (
    <details class="chip">
      <summary class="dot" style={{ "--phase": "var(--phase-running)" }}>
        {formatNumberOf(running.length, "running call")}
      </summary>
      <ul class="plain card">
        {running.map(([key, { abort, request }]) => (
          <li key={key} class="row between">
            <a href={officeHash(request, "tools", { tool: request.tool, computer: request.computer })}>
              <Name of={request.tool} length={60} />
            </a>
            <SmallButton description={`Cancel ${request.tool}`} onPress={() => abort.abort()}>
              Cancel
            </SmallButton>
          </li>
        ))}
      </ul>
    </details>
  )
}

/** Opens and closes the drawer of what needs a person, and counts it. The access key of the browser presses it as well. */
const NeedsButton = () => {
  const count = shownApprovals.value.length + failedServers.value.length
  return (
    <button
      type="button"
      class={count > 0 ? "needs waiting tone-waiting" : "needs"}
      accessKey="n"
      aria-expanded={isDrawerOpen.value}
      onClick={() => (isDrawerOpen.value = !isDrawerOpen.value)}
    >
      <Icon of="bell" /> Needs you{count > 0 && ` (${formatCount(count)})`}
    </button>
  )
}

const Header = () => {
  const { office } = store.session.value ?? {}
  return (
    <header class="row">
      <nav aria-label="Server">
        <span class="brand">
          <Icon of="mark" /> A2C-SMCP
        </span>
        {store.session.value !== undefined && office === undefined && (
          <a href={officesHash} {...(store.route.value._tag === "Offices" && { "aria-current": "page" })}>
            Offices
          </a>
        )}
      </nav>
      <span class="grow" />
      {store.session.value !== undefined && (
        <>
          <RunningCalls />
          <NeedsButton />
        </>
      )}
    </header>
  )
}

interface LinksProps extends Pick<OfficeRoute, "address"> {
  readonly label: string
  readonly kind: string
  readonly links: ReadonlyArray<readonly [title: string, view: OfficeViewName, isCurrent: boolean]>
}

const Links = ({ address, kind, label, links }: LinksProps) => {
  const element = useRef<HTMLElement>(null)
  // A narrow page does not show all links at once.
  useEffect(() => {
    element.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }, [links.find(([, , isCurrent]) => isCurrent)?.[1]])
  return (
    <nav ref={element} aria-label={label} class={kind}>
      {links.map(([title, view, isCurrent]) => (
        <a key={title} href={officeHash(address, view)} {...(isCurrent && { "aria-current": "page" })}>
          {title}
        </a>
      ))}
    </nav>
  )
}

const OfficeNavigation = ({ address, view }: OfficeRoute) => {
  const [, shown] = places.find(([, one]) => one.includes(view)) ?? ["", []]
  const tabs = places.map(([title, one]) => [title, one[0], one.includes(view)] as const)
  const segments = shown.map((one) => [views[one].title, one, one === view] as const)
  return (
    <>
      <Links address={address} label="Office" kind="tabs" links={tabs} />
      {shown.length > 1 && <Links address={address} label="Explore" kind="segments" links={segments} />}
    </>
  )
}

/** The members and the calls of an office in a line. */
const OfficeSummary = ({ address }: OfficeRoute) => {
  const { agents, callsPerSecond, computers, history } = store.currentOffice(address)
  return (
    <p class="row note">
      {`${formatNumberOf(agents.length, "Agent")}, ${formatNumberOf(computers.length, "Computer")}, `}
      {`${formatCount(callsPerSecond)} ${callsPerSecond === 1 ? "call" : "calls"}/s`}
      <Sparkline values={history} />
    </p>
  )
}

const OfficePage = (current: OfficeRoute) => {
  const { address, view } = current
  const { title, View } = views[view]
  return (
    <>
      <div class="row between title">
        <h1>
          <Name of={address.office} />{" "}
          <span class="tag">
            line <Name of={address.line} />
          </span>{" "}
          <span class="hidden">{title}</span>
        </h1>
        <OfficeSummary {...current} />
      </div>
      <OfficeNavigation {...current} />
      <View key={officeHash(address, view)} {...current} />
    </>
  )
}

const Content = () => {
  const state = store.connection.value
  if (state === "SignIn") return <SignIn />
  if (store.pageState.value.stream === undefined) {
    return (
      <p class="note">
        {state === "Unavailable"
          ? `The Server is not reachable. The page tries again, at most every ${formatDuration(10_000)}.`
          : "Loading"}
      </p>
    )
  }
  const current = store.route.value
  return current._tag === "Offices" ? <OfficesView /> : <OfficePage {...current} />
}

/** The office page. */
export const App = () => {
  const title = titleOf(store.route.value, store.openApprovals.value.length)
  useEffect(() => {
    document.title = title
  }, [title])
  // The hash names the view: the link moves the focus by itself.
  const skip = (event: Event) => {
    event.preventDefault()
    document.getElementById("content")?.focus()
  }
  return (
    <>
      <a class="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <Header />
      <div class="frame">
        <main id="content" tabIndex={-1}>
          <Content />
        </main>
        {isDrawerOpen.value && store.session.value !== undefined && <NeedsDrawer />}
      </div>
      <StatusLine />
    </>
  )
}
