import { useMemo } from "preact/hooks"
import { callsOfOffice } from "../../../../domain/page/calls/officeCalls.ts"
import { officeHash, type OfficeRoute } from "../../../../domain/page/route.ts"
import { currentOffice, memberCommand, pageState, useServerTime } from "../../connection/store.ts"
import { Empty, exampleCommand } from "../../parts/missing.tsx"
import { CallRow } from "../calls/CallsView.tsx"
import { MemberDetails } from "./MemberDetails.tsx"
import { OfficePicture } from "./OfficePicture.tsx"

/** Calls that are listed below the picture. */
const maxLatest = 8

const LatestCalls = ({ address }: OfficeRoute) => {
  const state = pageState.value
  const calls = useMemo(() => callsOfOffice(state, address).slice(0, maxLatest), [state.calls, address])
  const now = Math.max(useServerTime(1_000), state.at)
  return (
    <section class="card">
      <div class="row between">
        <h2>Latest calls</h2>
        <a href={officeHash(address, "activity")}>All activity</a>
      </div>
      {calls.length === 0 ? (
        <Empty command={memberCommand("agent", address.office, "call echo message=hi")}>
          No tool was called since this page was opened. Calls of the Agent appear here:
        </Empty>
      ) : (
        <ul class="plain rows">
          {calls.map(({ call }) => (
            <li key={call.id}>
              <a class="row nowrap" href={officeHash(address, "activity", { call: call.id })}>
                <CallRow call={call} now={now} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** The office as a picture, and below it the chosen member, or the latest calls. */
export const OverviewView = (route: OfficeRoute) => {
  const { address, parameters } = route
  const office = currentOffice(address)
  const chosen = [...office.agents, ...office.computers].filter(({ name, role }) => name === parameters[role])
  if (office.agents.length + office.computers.length === 0) {
    return (
      <Empty command={exampleCommand(address.office)}>
        This office has no members. It appears again when a member joins, for example a Computer:
      </Empty>
    )
  }
  return (
    <>
      <OfficePicture office={office} parameters={parameters} />
      {office.agents.length === 0 && (
        <p class="note">
          The office has no Agent. <code>{memberCommand("agent", address.office, "watch")}</code> joins as one.
        </p>
      )}
      {chosen.map((member) => (
        <MemberDetails key={member.sid} member={member} />
      ))}
      <LatestCalls {...route} />
    </>
  )
}
