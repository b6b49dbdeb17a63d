import { useState } from "preact/hooks"
import type { DocumentSummary } from "../../../domain/model/messages/requests.ts"
import { formatCount, formatNumberOf } from "../../../domain/text/format.ts"
import type { OfficeAddress, PageMember } from "../../../domain/page/PageEvent.ts"
import type { OfficeRoute } from "../../../domain/page/route.ts"
import { replaceParameters, versionOf } from "../connection/store.ts"
import { useReplies } from "../connection/api.ts"
import { ComputerCards, ReplyView } from "../parts/missing.tsx"
import { Markdown } from "../parts/Markdown.tsx"
import { LongText, Name, formatDateTime } from "../parts/Text.tsx"

/** Documents that a Computer lists in one reply, as the protocol has it by default. */
const pageSize = 20

/** A narrow page shows the document below the list. */
const showElement = (element: HTMLElement | null) => element?.scrollIntoView({ block: "nearest" })

const Preview = ({
  address,
  computer,
  uri
}: Record<"computer" | "uri", string> & { readonly address: OfficeAddress }) => {
  const command = { _tag: "GetDocument", ...address, computer, uri } as const
  const fetched = useReplies<"GetDocument">([{ version: "", command }])(command)
  return (
    <article ref={showElement}>
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
const formatModified = (text = ""): string => {
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
      {document.lastModified !== undefined && ", "}
      <Name of={formatModified(document.lastModified)} />
    </span>
    {document.summary !== undefined && <LongText text={document.summary} />}
  </li>
)

interface ComputerDocumentsProps {
  readonly computer: PageMember
  readonly keywords: ReadonlyArray<string>
  /** The URI of the document that is shown. */
  readonly chosen: string | undefined
}

const ComputerDocuments = ({ chosen, computer, keywords }: ComputerDocumentsProps) => {
  const { line, name, office } = computer
  const [offset, setOffset] = useState(0)
  const command = { _tag: "FindDocuments", line, office, computer: name, keywords, offset } as const
  const fetched = useReplies<"FindDocuments">([{ version: versionOf(computer, "finder"), command }])(command)
  const pageButton = (label: string, to: number, isDisabled: boolean) => (
    <button type="button" disabled={isDisabled} onClick={() => setOffset(to)}>
      {label}
    </button>
  )
  return (
    <ReplyView {...fetched}>
      {({ documents, totalCount: total }) => (
        <>
          {total === 0 && <p class="note">This Computer has no such documents.</p>}
          <ul class="plain rows">
            {documents.map((document) => (
              <DocumentItem
                key={document.docRef}
                computer={name}
                document={document}
                isChosen={document.uri === chosen}
              />
            ))}
          </ul>
          {total > pageSize && (
            <p class="row">
              {pageButton("Previous", Math.max(0, offset - pageSize), offset === 0)}
              <span>{`${offset + 1} to ${offset + documents.length} of ${formatCount(total)}`}</span>
              {pageButton("Next", offset + pageSize, offset + pageSize >= total)}
            </p>
          )}
        </>
      )}
    </ReplyView>
  )
}

/** The documents of all Computers, with a search and a preview. */
export const DocumentsView = ({ address, parameters }: OfficeRoute) => {
  const search = parameters["q"] ?? ""
  const keywords = search.split(/\s+/).filter((word) => word !== "")
  const { computer, uri } = parameters
  return (
    <>
      <div class="row field">
        <label for="document-search">Keywords</label>
        {/* It keeps what a user types while the page changes, and searches at Enter. */}
        <input
          id="document-search"
          type="search"
          defaultValue={search}
          onChange={(event) => replaceParameters({ q: event.currentTarget.value })}
        />
        <span class="note">A document matches when it contains any of them.</span>
      </div>
      <div class="columns">
        <div>
          <ComputerCards address={address} hint="Documents are MCP resources with dpe:// URIs of its MCP servers:">
            {(one) => (
              <ComputerDocuments
                key={search}
                computer={one}
                keywords={keywords}
                chosen={one.name === computer ? uri : undefined}
              />
            )}
          </ComputerCards>
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
