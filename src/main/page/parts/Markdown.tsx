import { type ComponentChildren, h, type JSX } from "preact"
import { lexer, type MarkedToken, type Token, type Tokens } from "marked"
import { useMemo } from "preact/hooks"
import { LongText, JsonText, Name } from "./Text.tsx"
import { Facts, Table } from "./Table.tsx"
import { truncate, visibleLine, visibleText } from "./visibleText.ts"
import { asObject, type JsonObject, objectsIn, parseJson, stringOrEmpty } from "../../../domain/json.ts"
import { formatBytes, formatNumberOf } from "../../../domain/text/format.ts"

/** Longer texts are shown as text: the time of the parser may grow with the square of the length. */
const maxMarkdownLength = 32_000

/** Deeper tokens are shown as text. */
const maxDepth = 16

/** Schemes of links. All other ones are shown as text. */
const linkPattern = /^(?:https?:\/\/|mailto:)/i

/** Images are only shown when the text contains them: a remote one would tell its Server that it is read. */
const dataImagePattern = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[a-z\d+/=]+$/i

const Raw = ({ text }: { readonly text: string }) => <bdi>{visibleText(text)}</bdi>

/** Renders tokens, or their text where they are too deep. Without extensions the lexer gives only known tokens. */
const renderTokens = (tokens: ReadonlyArray<Token>, depth: number): ComponentChildren =>
  (tokens as ReadonlyArray<MarkedToken>).map((token) =>
    depth > maxDepth ? <Raw text={token.raw} /> : renderToken(token, depth + 1)
  )

/** What has no link: its text, and where it leads. */
const renderAddress = (href: string, children: ComponentChildren): JSX.Element => (
  <span>
    {children} (<bdi class="address">{visibleLine(href)}</bdi>)
  </span>
)

const renderLink = (href: string, children: ComponentChildren): JSX.Element =>
  linkPattern.test(href) ? (
    <a href={href} rel="noreferrer noopener" target="_blank" title={visibleLine(href)}>
      {children}
    </a>
  ) : (
    renderAddress(href, children)
  )

const renderRow = (cells: ReadonlyArray<Tokens.TableCell>, depth: number): JSX.Element => (
  <tr>{cells.map(({ header, tokens }) => h(header ? "th" : "td", null, renderTokens(tokens, depth)))}</tr>
)

const renderToken = (token: MarkedToken, depth: number): ComponentChildren => {
  switch (token.type) {
    case "space":
    case "def":
      return undefined
    case "heading":
      return <p class={`heading heading-${token.depth}`}>{renderTokens(token.tokens, depth)}</p>
    case "paragraph":
      return <p>{renderTokens(token.tokens, depth)}</p>
    case "list": {
      const items = token.items.map((item) => <li>{renderTokens(item.tokens, depth)}</li>)
      return token.ordered ? <ol start={token.start === "" ? 1 : token.start}>{items}</ol> : <ul>{items}</ul>
    }
    case "list_item":
      return renderTokens(token.tokens, depth)
    case "checkbox":
      return token.checked ? "☑ " : "☐ "
    case "code":
      return <LongText text={token.text} code />
    case "codespan":
      return h("code", null, <Raw text={token.text} />)
    case "table":
      return (
        <div class="scroll" tabIndex={0} role="group" aria-label="table">
          <table>
            <thead>{renderRow(token.header, depth)}</thead>
            <tbody>{token.rows.map((cells) => renderRow(cells, depth))}</tbody>
          </table>
        </div>
      )
    case "strong":
    case "em":
    case "del":
    case "blockquote":
      return h(token.type, null, renderTokens(token.tokens, depth))
    case "br":
    case "hr":
      return h(token.type, null)
    case "link":
      return renderLink(token.href, renderTokens(token.tokens, depth))
    case "image":
      return dataImagePattern.test(token.href) ? (
        <img src={token.href} alt={visibleLine(token.text)} />
      ) : (
        renderAddress(token.href, <Raw text={token.text} />)
      )
    case "text":
    case "escape":
      return "tokens" in token && token.tokens ? renderTokens(token.tokens, depth) : <Raw text={token.text} />
    case "html":
    // An extension could add types.
    default:
      return <Raw text={token.raw} />
  }
}

/** Parses Markdown; `undefined` for text that is too long or too deep. */
const parseMarkdown = (text: string): ReadonlyArray<Token> | undefined => {
  if (text.length > maxMarkdownLength) return undefined
  try {
    return lexer(text)
  } catch {
    return undefined
  }
}

/** A foreign Markdown text. HTML in it is shown as text. */
export const Markdown = ({ text }: { readonly text: string }) => {
  const tokens = useMemo(() => parseMarkdown(text), [text])
  return tokens === undefined ? <LongText text={text} /> : <div class="markdown">{renderTokens(tokens, 0)}</div>
}

/** Bytes of a result to save. Other types than those of images are no matter: the browser opens none of them. */
const SavedFile = ({ data, kind, name, mimeType }: Record<"data" | "kind" | "name" | "mimeType", string>) => {
  const address = `data:${mimeType};base64,${data}`
  const isImage = dataImagePattern.test(address)
  const fileName = name.split("/").at(-1) || `${kind}.${mimeType.split(/[/+;]/)[1] ?? "bin"}`
  return (
    <div>
      {isImage && <img src={address} alt={`${kind} of the MCP server`} />}
      <p class="note">
        <Name of={mimeType || kind} />, {formatBytes(Math.floor((data.length * 3) / 4))}{" "}
        <a href={isImage ? address : `data:application/octet-stream;base64,${data}`} download={visibleLine(fileName)}>
          Save
        </a>
      </p>
    </div>
  )
}

/** Longer texts are not parsed, and more rows, columns and members are in the JSON text only. */
const maxParsedLength = 256 * 1024
const maxRows = 100
const maxColumns = 12

/** Values inside others beyond are JSON. */
const maxValueDepth = 3

const Records = ({ depth, records }: { readonly records: ReadonlyArray<JsonObject>; readonly depth: number }) => {
  const names = [...new Set(records.slice(0, maxRows).flatMap(Object.keys))]
  const columns = names.slice(0, maxColumns).map((name) => ({
    title: visibleLine(truncate(name, 100)),
    cell: (row: JsonObject) => Object.hasOwn(row, name) && <StructuredValue value={row[name]} depth={depth} />
  }))
  const rows = records.slice(0, maxRows)
  return (
    <>
      <Table label="Records" {...{ columns, rows }} keyOf={(_, index) => index} hasRowHeaders={false} />
      {(records.length > maxRows || names.length > maxColumns) && (
        <p class="note">
          {formatNumberOf(records.length, "record")} with {formatNumberOf(names.length, "member")}: the JSON text has
          all.
        </p>
      )}
    </>
  )
}

/** A JSON value for people: records as a table, other values of a list or an object by their names. */
export const StructuredValue = ({ depth = 0, value }: { readonly value: unknown; readonly depth?: number }) => {
  if (typeof value !== "object" || value === null)
    return <LongText text={typeof value === "string" ? value : JSON.stringify(value)} />
  const members = Object.entries(value)
  if (members.length === 0) return <span class="note">none</span>
  if (depth >= maxValueDepth) return <Name of={JSON.stringify(value)} length={1_000} />
  const records = objectsIn(value)
  if (records.length === members.length) return <Records records={records} depth={depth + 1} />
  const shown = members
    .slice(0, maxRows)
    .map(([name, member]) => [<Name of={name} />, <StructuredValue value={member} depth={depth + 1} />] as const)
  return (
    <>
      {Array.isArray(value) ? (
        <ul>
          {shown.map(([, item], index) => (
            <li key={index}>{item}</li>
          ))}
        </ul>
      ) : (
        <Facts facts={shown} />
      )}
      {members.length > maxRows && (
        <p class="note">{formatNumberOf(members.length, "value")}: the JSON text has all.</p>
      )}
    </>
  )
}

/** The value of a text that is the JSON of an object or a list. */
export const parseStructure = (text: unknown): unknown =>
  typeof text === "string" && text.length <= maxParsedLength && /^\s*[[{]/.test(text) ? parseJson(text) : undefined

const TextBlock = ({ mimeType, text }: { readonly text: string; readonly mimeType?: unknown }) => {
  const value = useMemo(() => parseStructure(text), [text])
  if (mimeType === "text/markdown") return <Markdown text={text} />
  return value === undefined ? <LongText text={text} code /> : <StructuredValue value={value} />
}

/** A block of a result or of a message: text, an image, a file, a resource; others as JSON. */
export const ContentBlockView = ({ block }: { readonly block: JsonObject }) => {
  const { type } = block
  if (type === "text") return <TextBlock text={stringOrEmpty(block["text"])} />
  const { blob, data, description, mimeType, name, text, title, uri } = { ...block, ...asObject(block["resource"]) }
  const address = stringOrEmpty(uri)
  const addressName = <Name of={address} length={1_000} />
  const file = { name: stringOrEmpty(name) || address, mimeType: stringOrEmpty(mimeType) }
  if (type === "image" || type === "audio") return <SavedFile {...file} kind={type} data={stringOrEmpty(data)} />
  if (type !== "resource" && type !== "resource_link") return <JsonText value={block} />
  return (
    <div>
      <p>
        <span class="tag">resource</span> <Name of={stringOrEmpty(title) || stringOrEmpty(name)} />{" "}
        <code>{linkPattern.test(address) ? renderLink(address, addressName) : addressName}</code>
      </p>
      {typeof description === "string" && <LongText text={description} />}
      {typeof text === "string" && <TextBlock text={text} mimeType={mimeType} />}
      {typeof blob === "string" && <SavedFile {...file} kind="file" data={blob} />}
    </div>
  )
}
