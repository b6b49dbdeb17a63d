/** A page of a kept result: of its text, or of one of its binary contents. */
export interface ResultPage {
  readonly id: string
  /** The number of the binary content, from 1; the text without it. */
  readonly binary?: number | undefined
  /** In characters of the text, or bytes of the binary content. */
  readonly offset: number
}

/** The key of the `_meta` of a page for the URI of the next one. */
export const nextPageKey = "a2c_next_uri"

const pattern = /^result:\/\/([^/?#]+)(?:\/(\d{1,6}))?(?:\?offset=(\d{1,15}))?$/

/** Formats the URI of a page, `result://ID`, `result://ID?offset=N` or `result://ID/BINARY?offset=N`. */
export const toResultUri = ({ binary, id, offset }: ResultPage): string =>
  `result://${id}${binary === undefined ? "" : `/${binary}`}${offset === 0 ? "" : `?offset=${offset}`}`

/** Parses the URI of a page; `undefined` for any other URI. */
export const parseResultUri = (uri: string): ResultPage | undefined => {
  const match = pattern.exec(uri)
  if (match === null) return undefined
  const [, id = "", binary, offset = "0"] = match
  return { id, offset: Number(offset), binary: binary === undefined ? undefined : Number(binary) }
}
