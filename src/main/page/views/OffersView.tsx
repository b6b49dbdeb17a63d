import { type ComponentChildren, Fragment } from "preact"
import { formatServerNames } from "../../../domain/model/CallStatus.ts"
import type { PageReplies } from "../../../domain/page/PageCommand.ts"
import type { PageMember } from "../../../domain/page/PageEvent.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { formatCount } from "../../../domain/text/format.ts"
import type { Fetched } from "../connection/api.ts"
import { replaceParameters } from "../connection/store.ts"
import { Empty, exampleCommand } from "../parts/missing.tsx"
import { Name } from "../parts/Text.tsx"
import { ListWithDetails } from "../parts/VirtualList.tsx"
import { truncate, visibleLine } from "../parts/visibleText.ts"

/** A tool or a prompt of an MCP server, as the list of an office shows it. */
export interface Offer {
  /** Unique in the office. */
  readonly key: string
  readonly name: string
  readonly description: string
  readonly computer: string
  readonly server: string
  readonly tags?: ReadonlyArray<string>
  /** Those of its address. */
  readonly parameters: OfficeRoute["parameters"]
  readonly details: () => ComponentChildren
}

type ListReply = Partial<Pick<PageReplies["GetTools"], "startingServers"> & PageReplies["SendMcpRequest"]>

interface OffersViewProps extends OfficeRoute {
  readonly kind: "tool" | "prompt"
  readonly offers: ReadonlyArray<Offer>
  /** What the Computers have replied. */
  readonly fetched: ReadonlyArray<{ readonly computer: PageMember } & Fetched<ListReply>>
}

/** The part of a description that is searched. */
const searchedLength = 2_000

/** The offers that contain every word. */
const searchOffers = (offers: ReadonlyArray<Offer>, search: string): ReadonlyArray<Offer> => {
  const words = search.toLowerCase().split(/\s+/)
  return offers.filter(({ computer, description, name, server }) => {
    const text = [name, computer, server, truncate(description, searchedLength)].join("\n").toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** The tools or the prompts of an office with a search, what is missing, and the details of one. */
export const OffersView = ({ address, fetched, kind, offers, parameters }: OffersViewProps) => {
  const isLoading = fetched.some(({ error, reply }) => reply === undefined && error === undefined)
  const { [kind]: wanted, q: search = "" } = parameters
  const found = searchOffers(offers, search)
  const chosen = offers.find((offer) =>
    Object.entries(offer.parameters).every(([name, value]) => parameters[name] === value)
  )
  const isUnknown = wanted !== undefined && chosen === undefined && !isLoading
  return (
    <>
      {fetched.map(
        ({ computer: { name, sid }, reply: { startingServers = [] } = {} }) =>
          startingServers.length > 0 && (
            <p key={`starting ${sid}`} class="note">
              <Name of={name} />: MCP servers start, their {kind}s are missing:{" "}
              <Name of={formatServerNames(startingServers)} />
            </p>
          )
      )}
      {fetched.map(
        ({ computer: { name, sid }, error }) =>
          error && (
            <p key={`error ${sid}`} class="error">
              <Name of={name} />: <Name of={error.message} length={1_000} /> ({error.code})
            </p>
          )
      )}
      <div class="row field">
        <label for="search">Search {kind}s</label>
        <input
          id="search"
          type="search"
          value={search}
          onInput={(event) => replaceParameters({ q: event.currentTarget.value })}
        />
        <span role="status" class="note">
          {isLoading ? "loading" : `${formatCount(found.length)} of ${formatCount(offers.length)} ${kind}s`}
        </span>
      </div>
      {offers.length === 0 && !isLoading ? (
        <Empty command={exampleCommand(address.office)}>
          No MCP server of this office offers {kind}s. The configuration of a Computer names its MCP servers:
        </Empty>
      ) : (
        <ListWithDetails
          label={`${kind === "tool" ? "Tool" : "Prompt"}s`}
          items={found}
          keyOf={({ key }) => key}
          selected={chosen?.key}
          onSelect={(offer) => replaceParameters(offer.parameters)}
          detailsLabel={kind === "tool" ? "Tool" : "Prompt"}
          hint={
            isUnknown
              ? `This office has no ${kind} ${visibleLine(truncate(wanted, 200))} at this Computer. It may have been removed or renamed.`
              : `Choose a ${kind} to see and to use it.`
          }
          details={chosen && <Fragment key={chosen.key}>{chosen.details()}</Fragment>}
        >
          {({ computer, description, name, tags = [] }) => (
            <>
              <span class="grow">
                <Name of={name} />{" "}
                <span class="note">
                  <Name of={description} length={120} />
                </span>
              </span>
              {[...tags, computer].map((tag, index) => (
                <span key={index} class="tag">
                  <Name of={tag} length={40} />
                </span>
              ))}
            </>
          )}
        </ListWithDetails>
      )}
    </>
  )
}
