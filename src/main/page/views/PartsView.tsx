import type { InspectedFault, InspectedPart, Inspection } from "../../../domain/page/Inspection.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { stateTones } from "../../../domain/page/officePicture.ts"
import { formatNumberOf } from "../../../domain/text/format.ts"
import { Icon } from "../parts/Icon.tsx"
import { ComputerCards } from "../parts/missing.tsx"
import { type Column, Table } from "../parts/Table.tsx"
import { formatClock, LongText, Name } from "../parts/Text.tsx"
import { InspectionOf } from "./overview/MemberDetails.tsx"

/** What a device or a pack offers is listed up to here. */
const maxOffers = 100

const kinds: { readonly [Kind in InspectedPart["kind"]]: string } = { device: "Device", pack: "Pack" }

const Faults = ({ faults }: { readonly faults: ReadonlyArray<InspectedFault> }) => (
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

const partColumns: ReadonlyArray<Column<InspectedPart>> = [
  {
    title: "Name",
    cell: ({ kind, name }) => (
      <>
        <Icon of={kind} /> <Name of={name} />
      </>
    )
  },
  { title: "Kind", cell: ({ kind }) => kinds[kind] },
  {
    title: "State",
    cell: ({ faults = [], reason, state }) => (
      <>
        <span class={`dot ${stateTones[state] ?? "idle"}`}>
          <Name of={state} />
        </span>
        {reason !== undefined && <LongText text={reason} />}
        {faults.length > 0 && <Faults faults={faults} />}
      </>
    )
  },
  {
    title: "Services or tools",
    cell: ({ offers }) => <Name of={offers.slice(0, maxOffers).join(", ")} length={4_000} />
  }
]

const Parts = ({ parts }: Pick<Inspection, "parts">) => (
  <Table
    label="Devices and packs"
    width="medium"
    columns={partColumns}
    rows={parts}
    keyOf={({ kind, name }) => `${kind} ${name}`}
    empty="This Computer has neither devices nor tool packs."
  />
)

/** The devices and tool packs behind the Computers of an office. */
export const PartsView = ({ address }: OfficeRoute) => (
  <ComputerCards
    address={address}
    hint="Devices and tool packs are MCP servers of a Computer:"
    command={"a2c devices gateway\na2c tools serve"}
  >
    {(member) => <InspectionOf member={member}>{({ parts }) => <Parts parts={parts} />}</InspectionOf>}
  </ComputerCards>
)
