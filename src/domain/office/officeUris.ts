import { hostLabel } from "../tools/exposedNames.ts"

/** A window or document of a Computer, by the URI it has there. */
export interface OfficeResource {
  readonly computer: string
  readonly uri: string
}

const resourceUriPattern = /^(window|dpe):\/\/([^/?#]+)(.*)$/is

/**
 * The URI of a Computer's window or document among those of a whole office: the Computer stands before the host, so that
 * `window://app/notes` of `desk` is `window://desk.app/notes`. `undefined` for URIs of other kinds.
 */
export const toOfficeUri = ({ computer, uri }: OfficeResource): string | undefined => {
  const [, scheme = "", host = "", rest = ""] = resourceUriPattern.exec(uri) ?? []
  return host === "" ? undefined : `${scheme.toLowerCase()}://${hostLabel(computer)}.${host}${rest}`
}

/** The window or document that a URI of the office means, among these Computers. */
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
