import { type ComponentChildren, h, type JSX } from "preact"
import { lexer, type MarkedToken, type Token } from "marked"
import { useMemo } from "preact/hooks"
import { LongText, JsonText, Name } from "./Text.tsx"
import { visibleLine, visibleText } from "./visibleText.ts"
import { asObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"

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

const renderTable = (table: Extract<MarkedToken, { readonly type: "table" }>, depth: number): JSX.Element => (
  <div class="scroll" tabIndex={0} role="group" aria-label="table">
    <table>
      <thead>
        <tr>
          {table.header.map(({ tokens }) => (
            <th scope="col">{renderTokens(tokens, depth)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((cells) => (
          <tr>
            {cells.map(({ tokens }) => (
              <td>{renderTokens(tokens, depth)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
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
      return (
        <code>
          <Raw text={token.text} />
        </code>
      )
    case "table":
      return renderTable(token, depth)
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
      return token.tokens === undefined ? <Raw text={token.text} /> : renderTokens(token.tokens, depth)
    case "escape":
      return <Raw text={token.text} />
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

const ImageBlock = ({ block }: { readonly block: JsonObject }) => {
  const address = `data:${stringOrEmpty(block["mimeType"])};base64,${stringOrEmpty(block["data"])}`
  return dataImagePattern.test(address) ? (
    <img src={address} alt="image of the MCP server" />
  ) : (
    <p class="note">
      an image of the type <Name of={stringOrEmpty(block["mimeType"])} />
    </p>
  )
}

/** A block of a result or of a message: text, an image, a resource; others as JSON. */
export const ContentBlockView = ({ block }: { readonly block: JsonObject }) => {
  switch (block["type"]) {
    case "text":
      return <LongText text={stringOrEmpty(block["text"])} code />
    case "image":
      return <ImageBlock block={block} />
    case "resource_link":
    case "resource": {
      const { name, text, uri } = { ...block, ...asObject(block["resource"]) }
      return (
        <div>
          <p>
            <span class="tag">resource</span> <Name of={stringOrEmpty(name)} />{" "}
            <code>
              <Name of={stringOrEmpty(uri)} length={1_000} />
            </code>
          </p>
          {typeof text === "string" && <LongText text={text} code />}
        </div>
      )
    }
    default:
      return <JsonText value={block} />
  }
}
