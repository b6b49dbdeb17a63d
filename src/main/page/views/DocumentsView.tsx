import { useEffect, useRef, useState } from "preact/hooks"
import type { DocumentSummary } from "../../../domain/model/messages/requests.ts"
import { formatCount, formatNumberOf } from "../../../domain/text/format.ts"
import { findPageOffice } from "../../../domain/page/offices.ts"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import { partKey } from "../../../domain/page/PageState.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { pageState, replaceParameters } from "../connection/store.ts"
import { useReplies } from "../connection/useReplies.ts"
import { Empty, exampleCommand, ReplyView } from "../parts/missing.tsx"
import { Markdown } from "../parts/Markdown.tsx"
import { LongText, Name } from "../parts/Text.tsx"
import { formatDateTime } from "../parts/time.ts"

/** Documents that a Computer lists in one reply, as the protocol has it by default. */
const pageSize = 20

interface PreviewProps {
  readonly address: OfficeAddress
  readonly computer: string
  readonly uri: string
}

const Preview = ({ address, computer, uri }: PreviewProps) => {
  const command = { _tag: "GetDocument", line: address.line, office: address.office, computer, uri } as const
  const key = JSON.stringify([computer, uri])
  const fetched = useReplies<"GetDocument">([{ key, version: key, command }]).get(key)
  const element = useRef<HTMLElement>(null)
  // A narrow page shows the document below the list.
  useEffect(() => element.current?.scrollIntoView({ block: "nearest" }), [])
  return (
    <article ref={element}>
      <h2>
        <Name of={uri} length={1_000} />
      </h2>
      <ReplyView {...fetched}>
        {({ isTruncated, mimeType, text }) => (
          <>
            <p class="note">
              <Name of={mimeType} />
              {isTruncated && ", only the first part"}
            </p>
            {/markdown/i.test(mimeType) ? <Markdown text={text} /> : <LongText text={text} code />}
          </>
        )}
      </ReplyView>
    </article>
  )
}

/** An ISO date as the browser writes it; other texts as they are. */
const formatModified = (text: string): string => {
  const at = /^\d{4}-\d\d-\d\dT/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? text : formatDateTime(at)
}

interface DocumentItemProps {
  readonly computer: string
  readonly document: DocumentSummary
  readonly isChosen: boolean
}

const DocumentItem = ({ computer, document, isChosen }: DocumentItemProps) => (
  <li class={isChosen ? "chosen" : ""}>
    <button
      type="button"
      class="link"
      {...(isChosen && { "aria-current": "true" })}
      onClick={() => replaceParameters({ uri: document.uri, computer })}
    >
      <Name of={document.title === "" ? document.uri : document.title} />
    </button>{" "}
    <span class="tag">
      <Name of={document.fileType} length={20} />
    </span>{" "}
    <span class="note">
      {formatNumberOf(document.pageCount, "page")}, <Name of={document.server} />
      {document.lastModified !== undefined && (
        <>
          , <Name of={formatModified(document.lastModified)} />
        </>
      )}
    </span>
    {document.summary !== undefined && <LongText text={document.summary} />}
  </li>
)

interface ComputerDocumentsProps {
  readonly address: OfficeAddress
  readonly computer: string
  readonly version: string
  readonly keywords: ReadonlyArray<string>
  /** The URI of the document that is shown. */
  readonly chosen: string | undefined
}

const ComputerDocuments = ({ address, chosen, computer, keywords, version }: ComputerDocumentsProps) => {
  const [offset, setOffset] = useState(0)
  const key = JSON.stringify([computer, keywords, offset])
  const command = { _tag: "FindDocuments", ...address, computer, keywords, offset } as const
  const fetched = useReplies<"FindDocuments">([{ key, version, command }]).get(key)
  return (
    <section class="card">
      <h2>
        <Name of={computer} />
      </h2>
      <ReplyView {...fetched}>
        {({ documents, totalCount: total }) => (
          <>
            {total === 0 && <p class="note">This Computer has no such documents.</p>}
            <ul class="plain rows">
              {documents.map((document) => (
                <DocumentItem
                  key={document.docRef}
                  computer={computer}
                  document={document}
                  isChosen={document.uri === chosen}
                />
              ))}
            </ul>
            {total > pageSize && (
              <p class="pages">
                <button type="button" disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - pageSize))}>
                  Previous
                </button>
                <span>{`${offset + 1} to ${offset + documents.length} of ${formatCount(total)}`}</span>
                <button
                  type="button"
                  disabled={offset + pageSize >= total}
                  onClick={() => setOffset(offset + pageSize)}
                >
                  Next
                </button>
              </p>
            )}
          </>
        )}
      </ReplyView>
    </section>
  )
}

/** The search field. It keeps what a user types while the page changes, and searches at Enter. */
const KeywordsField = ({ search }: { readonly search: string }) => {
  const [text, setText] = useState(search)
  useEffect(() => setText(search), [search])
  return (
    <div class="field">
      <label for="document-search">Keywords</label>
      <input
        id="document-search"
        type="search"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => replaceParameters({ q: event.currentTarget.value })}
      />
      <span class="note">A document matches when it contains any of them.</span>
    </div>
  )
}

/** The documents of all Computers, with a search and a preview. */
export const DocumentsView = ({ address, parameters }: OfficeRoute) => {
  const state = pageState.value
  const { computers } = findPageOffice(state, address)
  const search = parameters["q"] ?? ""
  const keywords = search.split(/\s+/).filter((word) => word !== "")
  const { computer, uri } = parameters
  if (computers.length === 0) {
    return (
      <Empty command={exampleCommand(address.office)}>
        No Computer is in this office. Documents are MCP resources with dpe:// URIs of its MCP servers:
      </Empty>
    )
  }
  return (
    <>
      <KeywordsField search={search} />
      <div class="columns">
        <div>
          {computers.map(({ name, sid }) => (
            <ComputerDocuments
              key={`${sid} ${search}`}
              address={address}
              computer={name}
              keywords={keywords}
              chosen={name === computer ? uri : undefined}
              version={[state.stream, sid, state.updates.get(partKey(address, name, "finder")) ?? 0].join(" ")}
            />
          ))}
        </div>
        <section class="card" aria-label="Document">
          {uri === undefined || computer === undefined ? (
            <p class="note">Choose a document to see its text.</p>
          ) : (
            <Preview key={`${computer} ${uri}`} address={address} computer={computer} uri={uri} />
          )}
        </section>
      </div>
    </>
  )
}
