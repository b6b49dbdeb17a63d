import { hostLabel } from "../tools/exposedNames.ts"

export interface OfficeResource {
  readonly computer: string
  readonly uri: string
}

const resourceUriPattern = /^(window|dpe):\/\/([^/?#]+)(.*)$/is

/**
 * Formats the URI of a window or document for the whole office, with the Computer as prefix of the host:
 * `window://app/notes` of `desk` becomes `window://desk.app/notes`. Gives `undefined` for other schemes.
 */
export const toOfficeUri = ({ computer, uri }: OfficeResource): string | undefined => {
  const [, scheme = "", host = "", rest = ""] = resourceUriPattern.exec(uri) ?? []
  return host === "" ? undefined : `${scheme.toLowerCase()}://${hostLabel(computer)}.${host}${rest}`
}

/** Finds the Computer and the URI there for a URI of the office. */
export const parseOfficeUri = (uri: string, computers: Iterable<string>): OfficeResource | undefined => {
  const [, scheme = "", host = "", rest = ""] = resourceUriPattern.exec(uri) ?? []
  for (const computer of computers) {
    const prefix = `${hostLabel(computer)}.`
    if (host.startsWith(prefix) && host.length > prefix.length) {
      return { computer, uri: `${scheme.toLowerCase()}://${host.slice(prefix.length)}${rest}` }
    }
  }
  return undefined
}
