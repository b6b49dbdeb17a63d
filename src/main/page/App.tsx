import { useEffect, useRef, useState } from "preact/hooks"
import { approvalsOfOffice } from "../../domain/page/calls/openApprovals.ts"
import { formatCount, formatDuration, formatNumberOf } from "../../domain/text/format.ts"
import { findPageOffice } from "../../domain/page/offices.ts"
import type { OfficeAddress } from "../../domain/page/PageEvent.ts"
import { officeHash, officesHash, type OfficeViewName, officeViews, type PageRoute } from "../../domain/page/route.ts"
import { pageErrorOf, signOut } from "./connection/api.ts"
import { disconnect } from "./connection/connect.ts"
import { clearInputs } from "./connection/storage.ts"
import {
  connection,
  type ConnectionState,
  openApprovalCount,
  openApprovals,
  pageState,
  route,
  session
} from "./connection/store.ts"
import { Sparkline } from "./parts/Sparkline.tsx"
import { Name } from "./parts/Text.tsx"
import { truncate, visibleLine } from "./parts/visibleText.ts"
import { ThemeSwitch } from "./ThemeSwitch.tsx"
import { CallsView } from "./views/calls/CallsView.tsx"
import { DesktopView } from "./views/DesktopView.tsx"
import { DocumentsView } from "./views/DocumentsView.tsx"
import { InboxView } from "./views/inbox/InboxView.tsx"
import { MembersView } from "./views/MembersView.tsx"
import { OfficesView } from "./views/OfficesView.tsx"
import { PartsView } from "./views/PartsView.tsx"
import { PromptsView } from "./views/prompts/PromptsView.tsx"
import { SignIn } from "./views/SignIn.tsx"
import { ToolsView } from "./views/tools/ToolsView.tsx"
import { TryView } from "./views/try/TryView.tsx"

const viewTitles: { readonly [View in OfficeViewName]: string } = {
  members: "Members",
  inbox: "Inbox",
  tools: "Tools",
  prompts: "Prompts",
  desktop: "Desktop",
  calls: "Calls",
  try: "Try",
  documents: "Documents",
  parts: "Devices and packs"
}

/** The length of an office id in the title of the page. */
const maxTitleLength = 60

/** The title of the page, behind the number of open approvals of all offices. */
const titleOf = (current: PageRoute, approvals: number): string => {
  const title =
    current._tag === "Offices"
      ? "Offices · A2C-SMCP"
      : `${visibleLine(truncate(current.address.office, maxTitleLength))} · ${viewTitles[current.view]} · A2C-SMCP`
  return approvals === 0 ? title : `(${formatCount(approvals)}) ${title}`
}

const describeConnection = (state: ConnectionState): string => {
  switch (state._tag) {
    case "Connecting":
      return "Connecting"
    case "SignIn":
      return "Not signed in"
    case "Connected":
      return "Connected"
    case "Reconnecting":
      return "Reconnecting"
    case "Unavailable":
      return "Server unavailable, trying again"
  }
}

const StatusLine = () => {
  const state = connection.value
  const { droppedEvents, omittedCalls } = pageState.value
  return (
    <footer>
      <span role="status" class={`connection connection-${state._tag}`}>
        {describeConnection(state)}
      </span>
      {omittedCalls > 0 && <span>{formatCount(omittedCalls)} calls were counted, but are not listed</span>}
      {droppedEvents > 0 && (
        <span class="bad">{formatCount(droppedEvents)} events were lost, because this page was too slow</span>
      )}
    </footer>
  )
}

const SignOutButton = () => {
  const [error, setError] = useState("")
  const end = () => {
    signOut().then(
      () => {
        clearInputs()
        disconnect()
      },
      (failure: unknown) => setError(visibleLine(pageErrorOf(failure).message))
    )
  }
  return (
    <>
      <button type="button" class="small" onClick={end}>
        Sign out
      </button>
      <span role="alert" class="error">
        {error}
      </span>
    </>
  )
}

const Header = () => {
  const { office, requiresSignIn = false, subject = "" } = session.value ?? {}
  return (
    <header>
      <nav aria-label="Server">
        <span class="brand">A2C-SMCP</span>
        {session.value !== undefined && office === undefined && (
          <a href={officesHash} {...(route.value._tag === "Offices" && { "aria-current": "page" })}>
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

const OfficeNavigation = ({ address, view }: { readonly address: OfficeAddress; readonly view: OfficeViewName }) => {
  const element = useRef<HTMLElement>(null)
  // A narrow page does not show all links at once.
  useEffect(() => {
    element.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" })
  }, [view])
  const approvals = approvalsOfOffice(openApprovals.value, address).length
  return (
    <nav ref={element} aria-label="Office" class="tabs">
      {officeViews.map((one) => (
        <a key={one} href={officeHash(address, one)} {...(one === view && { "aria-current": "page" })}>
          {one === "inbox" && approvals > 0 ? `${viewTitles[one]} (${formatCount(approvals)})` : viewTitles[one]}
        </a>
      ))}
    </nav>
  )
}

/** The members and the calls of an office in a line. */
const OfficeSummary = ({ address }: { readonly address: OfficeAddress }) => {
  const { agents, callsPerSecond, computers, history } = findPageOffice(pageState.value, address)
  return (
    <p class="summary note">
      {`${formatNumberOf(agents.length, "Agent")}, ${formatNumberOf(computers.length, "Computer")}, `}
      {`${formatCount(callsPerSecond)} calls/s`}
      <Sparkline values={history} />
    </p>
  )
}

type OfficeRoute = Extract<PageRoute, { readonly _tag: "Office" }>

const OfficeContent = ({ address, parameters, view }: OfficeRoute) => {
  switch (view) {
    case "members":
      return <MembersView address={address} />
    case "inbox":
      return <InboxView address={address} />
    case "tools":
      return <ToolsView address={address} parameters={parameters} />
    case "prompts":
      return <PromptsView address={address} parameters={parameters} />
    case "desktop":
      return <DesktopView address={address} />
    case "calls":
      return <CallsView address={address} parameters={parameters} />
    case "try":
      return <TryView address={address} parameters={parameters} />
    case "documents":
      return <DocumentsView address={address} parameters={parameters} />
    case "parts":
      return <PartsView address={address} />
  }
}

const OfficePage = (current: OfficeRoute) => {
  const { address, view } = current
  return (
    <>
      <div class="title">
        <h1>
          <Name of={address.office} />{" "}
          <span class="tag">
            line <Name of={address.line} />
          </span>{" "}
          <span class="hidden">{viewTitles[view]}</span>
        </h1>
        <OfficeSummary address={address} />
      </div>
      <OfficeNavigation address={address} view={view} />
      <OfficeContent key={officeHash(address, view)} {...current} />
    </>
  )
}

const Content = () => {
  const state = connection.value
  if (state._tag === "SignIn") return <SignIn />
  if (pageState.value.stream === undefined) {
    return (
      <p class="note">
        {state._tag === "Unavailable"
          ? `The Server is not reachable. The page tries again, at most every ${formatDuration(10_000)}.`
          : "Loading"}
      </p>
    )
  }
  const current = route.value
  return current._tag === "Offices" ? <OfficesView /> : <OfficePage {...current} />
}

/** The office page. */
export const App = () => {
  const title = titleOf(route.value, openApprovalCount.value)
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
