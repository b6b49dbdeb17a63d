import type { ComponentType } from "preact"
import { useSignalEffect } from "@preact/signals"
import { useLayoutEffect, useRef } from "preact/hooks"
import { formatCount, formatDuration, formatNumberOf, formatRate } from "../../domain/text/format.ts"
import {
  officeHash,
  officesHash,
  officeViews,
  type OfficeRoute,
  type OfficeViewName,
  type PageRoute
} from "../../domain/page/route.ts"
import { signOut, useAction } from "./connection/api.ts"
import { disconnect } from "./connection/connect.ts"
import { clearInputs, useSetting } from "./connection/storage.ts"
import { pageCalls } from "./connection/pageCalls.ts"
import * as store from "./connection/store.ts"
import { Icon } from "./parts/Icon.tsx"
import { SmallButton, Select } from "./parts/controls.tsx"
import { Empty, ErrorText } from "./parts/missing.tsx"
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

/** The views of an office. Several ones of one place stand beside each other. */
const views: {
  readonly [Name in OfficeViewName]: readonly [title: string, View: ComponentType<OfficeRoute>, place?: string]
} = {
  overview: ["Overview", OverviewView],
  activity: ["Activity", CallsView],
  tools: ["Tools", ToolsView, "Explore"],
  prompts: ["Prompts", PromptsView, "Explore"],
  windows: ["Windows", DesktopView, "Explore"],
  documents: ["Documents", DocumentsView, "Explore"],
  settings: ["Settings", SettingsView],
  unknown: ["Unknown view", () => <Empty>The address names no view of an office.</Empty>]
}

const placeOf = (view: OfficeViewName): string => views[view][2] ?? views[view][0]

/** The places of an office by what people do there, each with its views. */
const places = Map.groupBy(officeViews, placeOf)

/** The length of an office id in the title of the page. */
const maxTitleLength = 60

/** The title of the page, behind the number of open approvals of all offices. */
const titleOf = (current: PageRoute, approvals: number): string => {
  const names =
    current._tag === "Offices"
      ? ["Offices"]
      : [visibleLine(truncate(current.address.office, maxTitleLength)), views[current.view][0]]
  return `${approvals === 0 ? "" : `(${formatCount(approvals)}) `}${[...names, "A2C-SMCP"].join(" · ")}`
}

/** The words for the states of the connection, and their classes. */
const connectionTexts: { readonly [State in store.ConnectionState]: readonly [text: string, kind: string] } = {
  Connecting: ["Connecting", "waiting"],
  SignIn: ["Not signed in", ""],
  Connected: ["Connected", "good"],
  Reconnecting: ["Reconnecting", "waiting"],
  Unavailable: ["Server unavailable, trying again", "bad"]
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
    <Select
      attributes={{ class: "small", "aria-label": "Colours" }}
      value={theme}
      options={themes.map((one) => [one, `${one} colours`])}
      onSelect={choose}
    />
  )
}

const endSession = async (): Promise<void> => {
  await signOut()
  clearInputs()
  disconnect()
}

const StatusLine = () => {
  const { error, run } = useAction<void>()
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
      <span class="grow">{requiresSignIn && <Name of={subject} length={60} />}</span>
      {requiresSignIn && <SmallButton onPress={() => run(endSession)}>Sign out</SmallButton>}
      {error && <ErrorText error={error} isAlert />}
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
      aria-expanded={store.isDrawerOpen.value}
      onClick={() => (store.isDrawerOpen.value = !store.isDrawerOpen.value)}
    >
      <Icon of="bell" /> Needs you{count > 0 && ` (${formatCount(count)})`}
    </button>
  )
}

const Header = () => {
  const session = store.session.value
  const isCurrent = store.route.value._tag === "Offices"
  return (
    <header class="row">
      <nav aria-label="Server">
        <strong>
          <Icon of="mark" /> A2C-SMCP
        </strong>
        {session !== undefined && session.office === undefined && (
          <a href={officesHash} aria-current={isCurrent ? "page" : undefined}>
            Offices
          </a>
        )}
      </nav>
      <span class="grow" />
      {session !== undefined && (
        <>
          <RunningCalls />
          <NeedsButton />
        </>
      )}
    </header>
  )
}

/** The places of an office, and the views of the current one. */
const OfficeNavigation = ({ address, view }: OfficeRoute) => {
  const place = placeOf(view)
  const linkTo = (title: string, to: OfficeViewName, isCurrent: boolean) => (
    <a key={title} href={officeHash(address, to)} aria-current={isCurrent ? "page" : undefined}>
      {title}
    </a>
  )
  const beside = places.get(place) ?? []
  return (
    <>
      <nav aria-label="Office" class="tabs">
        {Array.from(places, ([title, [first = "overview"]]) => linkTo(title, first, title === place))}
      </nav>
      {beside.length > 1 && (
        <nav aria-label={place} class="field">
          {beside.map((one) => linkTo(views[one][0], one, one === view))}
        </nav>
      )}
    </>
  )
}

const OfficePage = (current: OfficeRoute) => {
  const { address, view } = current
  const [title, View] = views[view]
  const { agents, callsPerSecond, computers, history } = store.currentOffice(address)
  return (
    <>
      <div class="row between">
        <h1 aria-label={visibleLine(`${truncate(address.office, maxTitleLength)}, ${title}`)}>
          <Name of={address.office} />{" "}
          <span class="tag">
            line <Name of={address.line} />
          </span>
        </h1>
        <p class="row note">
          {`${formatNumberOf(agents.length, "Agent")}, ${formatNumberOf(computers.length, "Computer")}, `}
          {formatRate(callsPerSecond)}
          <Sparkline values={history} />
        </p>
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
  const content = useRef<HTMLElement>(null)
  useSignalEffect(() => {
    document.title = titleOf(store.route.value, store.openApprovals.value.length)
  })
  return (
    <>
      <button type="button" class="skip" onClick={() => content.current?.focus()}>
        Skip to the content
      </button>
      <Header />
      <div class="frame">
        <main id="content" ref={content} tabIndex={-1}>
          <Content />
        </main>
        {store.isDrawerOpen.value && store.session.value !== undefined && <NeedsDrawer />}
      </div>
      <StatusLine />
    </>
  )
}
