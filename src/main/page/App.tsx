import type { ComponentType } from "preact"
import { useEffect, useRef, useLayoutEffect } from "preact/hooks"
import { approvalsOfOffice } from "../../domain/page/calls/openApprovals.ts"
import { formatCount, formatDuration, formatNumberOf } from "../../domain/text/format.ts"
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
import * as store from "./connection/store.ts"
import { SmallButton, Select } from "./parts/controls.tsx"
import { Sparkline } from "./parts/Table.tsx"
import { Name } from "./parts/Text.tsx"
import { truncate, visibleLine } from "./parts/visibleText.ts"
import { CallsView } from "./views/calls/CallsView.tsx"
import { DesktopView } from "./views/DesktopView.tsx"
import { DocumentsView } from "./views/DocumentsView.tsx"
import { InboxView } from "./views/inbox/InboxView.tsx"
import { MembersView, PartsView } from "./views/MembersView.tsx"
import { OfficesView } from "./views/OfficesView.tsx"
import { PromptsView } from "./views/PromptsView.tsx"
import { SignIn } from "./views/SignIn.tsx"
import { ToolsView } from "./views/ToolsView.tsx"
import { TryView } from "./views/try/TryView.tsx"

/** The views of an office. {@link officeViews} has their order. */
const views: {
  readonly [View in OfficeViewName]: { readonly title: string; readonly View: ComponentType<OfficeRoute> }
} = {
  members: { title: "Members", View: MembersView },
  inbox: { title: "Inbox", View: InboxView },
  tools: { title: "Tools", View: ToolsView },
  prompts: { title: "Prompts", View: PromptsView },
  desktop: { title: "Desktop", View: DesktopView },
  calls: { title: "Calls", View: CallsView },
  try: { title: "Try", View: TryView },
  documents: { title: "Documents", View: DocumentsView },
  parts: { title: "Devices and packs", View: PartsView }
}

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

const StatusLine = () => {
  const state = store.connection.value
  const [text, kind] = connectionTexts[state]
  const { droppedEvents, omittedCalls } = store.pageState.value
  return (
    <footer class="row">
      <span role="status" class={`dot ${kind} connection-${state}`}>
        {text}
      </span>
      {omittedCalls > 0 && <span>{formatCount(omittedCalls)} calls were counted, but are not listed</span>}
      {droppedEvents > 0 && (
        <span class="bad">{formatCount(droppedEvents)} events were lost, because this page was too slow</span>
      )}
    </footer>
  )
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
      <span role="alert" class="error">
        {error && visibleLine(error.message)}
      </span>
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

const Header = () => {
  const { office, requiresSignIn = false, subject = "" } = store.session.value ?? {}
  return (
    <header class="row">
      <nav aria-label="Server">
        <span class="brand dot">A2C-SMCP</span>
        {store.session.value !== undefined && office === undefined && (
          <a href={officesHash} {...(store.route.value._tag === "Offices" && { "aria-current": "page" })}>
            Offices
          </a>
        )}
      </nav>
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
    </header>
  )
}

const OfficeNavigation = ({ address, view }: OfficeRoute) => {
  const element = useRef<HTMLElement>(null)
  // A narrow page does not show all links at once.
  useEffect(() => {
    element.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }, [view])
  const approvals = approvalsOfOffice(store.openApprovals.value, address).length
  return (
    <nav ref={element} aria-label="Office" class="tabs">
      {officeViews.map((one) => (
        <a key={one} href={officeHash(address, one)} {...(one === view && { "aria-current": "page" })}>
          {views[one].title}
          {one === "inbox" && approvals > 0 && ` (${formatCount(approvals)})`}
        </a>
      ))}
    </nav>
  )
}

/** The members and the calls of an office in a line. */
const OfficeSummary = ({ address }: OfficeRoute) => {
  const { agents, callsPerSecond, computers, history } = store.currentOffice(address)
  return (
    <p class="row note">
      {`${formatNumberOf(agents.length, "Agent")}, ${formatNumberOf(computers.length, "Computer")}, `}
      {`${formatCount(callsPerSecond)} calls/s`}
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
      <main id="content" tabIndex={-1}>
        <Content />
      </main>
      <StatusLine />
    </>
  )
}
