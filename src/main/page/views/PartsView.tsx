import { findPageOffice } from "../../../domain/page/offices.ts"
import { formatNumberOf } from "../../../domain/text/format.ts"
import type { InspectedFault, InspectedPart } from "../../../domain/page/Inspection.ts"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import { pageState } from "../connection/store.ts"
import { Empty } from "../parts/Empty.tsx"
import { LongText, Name } from "../parts/Text.tsx"
import { formatClock } from "../parts/time.ts"
import { InspectionOf } from "./MembersView.tsx"

/** What a device or a pack offers is listed up to here. */
const maxOffers = 100

const kinds: { readonly [Kind in InspectedPart["kind"]]: string } = { device: "Device", pack: "Pack" }

const Faults = ({ faults }: { readonly faults: ReadonlyArray<InspectedFault> }) =>
  faults.length === 0 ? null : (
    <details>
      <summary class="bad">{formatNumberOf(faults.length, "recent fault")}</summary>
      <ul class="plain">
        {faults.map(({ at, text }, index) => (
          <li key={index}>
            {formatClock(at)} <LongText text={text} />
          </li>
        ))}
      </ul>
    </details>
  )

const PartRow = ({ part }: { readonly part: InspectedPart }) => (
  <tr>
    <th scope="row">
      <Name of={part.name} />
    </th>
    <td>{kinds[part.kind]}</td>
    <td>
      <Name of={part.state} />
      {part.reason !== undefined && <LongText text={part.reason} />}
      <Faults faults={part.faults ?? []} />
    </td>
    <td>
      <Name of={part.offers.slice(0, maxOffers).join(", ")} length={4_000} />
    </td>
  </tr>
)

const Parts = ({ parts }: { readonly parts: ReadonlyArray<InspectedPart> }) =>
  parts.length === 0 ? (
    <p class="note">This Computer has neither devices nor tool packs.</p>
  ) : (
    <div class="scroll medium" tabIndex={0} role="group" aria-label="Devices and packs">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Kind</th>
            <th scope="col">State</th>
            <th scope="col">Services or tools</th>
          </tr>
        </thead>
        <tbody>
          {parts.map((part) => (
            <PartRow key={`${part.kind} ${part.name}`} part={part} />
          ))}
        </tbody>
      </table>
    </div>
  )

/** The devices and tool packs behind the Computers of an office. */
export const PartsView = ({ address }: { readonly address: OfficeAddress }) => {
  const { computers } = findPageOffice(pageState.value, address)
  if (computers.length === 0) {
    return (
      <Empty command={"a2c devices gateway\na2c tools serve"}>
        No Computer is in this office. Devices and tool packs are MCP servers of a Computer:
      </Empty>
    )
  }
  return (
    <>
      {computers.map((member) => (
        <section key={member.sid} class="card">
          <h2>
            <Name of={member.name} />
          </h2>
          <InspectionOf member={member}>{({ parts }) => <Parts parts={parts} />}</InspectionOf>
        </section>
      ))}
    </>
  )
}
