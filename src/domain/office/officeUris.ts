import { hostLabel } from "../tools/exposedNames.ts"

export interface OfficeResource {
  readonly computer: string
  readonly uri: string
}

const resourceUriPattern = /^(window|dpe):\/\/([^/?#]+)(.*)$/is

const splitUri = (uri: string) => {
  const match = resourceUriPattern.exec(uri)
  return match === null
    ? undefined
    : { scheme: String(match[1]).toLowerCase(), host: String(match[2]), rest: String(match[3]) }
}

/**
 * Formats the URI of a window or document for the whole office, with the Computer as prefix of the host:
 * `window://app/notes` of `desk` becomes `window://desk.app/notes`. Gives `undefined` for other schemes.
 */
export const toOfficeUri = ({ computer, uri }: OfficeResource): string | undefined => {
  const parts = splitUri(uri)
  return parts && `${parts.scheme}://${hostLabel(computer)}.${parts.host}${parts.rest}`
}

/** Finds the Computer and the URI there for a URI of the office. */
export const parseOfficeUri = (uri: string, computers: Iterable<string>): OfficeResource | undefined => {
  const parts = splitUri(uri)
  if (parts === undefined) return undefined
  const { host, rest, scheme } = parts
  for (const computer of computers) {
    const prefix = `${hostLabel(computer)}.`
    if (host.startsWith(prefix) && host.length > prefix.length) {
      return { computer, uri: `${scheme}://${host.slice(prefix.length)}${rest}` }
    }
  }
  return undefined
}
