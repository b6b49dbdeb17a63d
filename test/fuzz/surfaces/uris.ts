import { isDeepStrictEqual } from "node:util"
import { Effect, Result } from "effect"
import { parseOfficeUri, parseServerUri, toOfficeUri, toServerUri } from "../../../src/domain/office/officeUris.ts"
import { formatTaskId, parseTaskId } from "../../../src/domain/office/taskIds.ts"
import { exposedName, hostLabel } from "../../../src/domain/tools/exposedNames.ts"
import { buildWindowUri, isWindowUri, hasWindowScheme, parseWindowUri } from "../../../src/domain/desktop/WindowUri.ts"
import { buildDpeUri, parseStrictDpeUri, parseDpeUri } from "../../../src/domain/documents/DpeUri.ts"
import { queryParameter, parseUri } from "../../../src/domain/uri.ts"
import { textIn } from "./textIn.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"

const computer = "desk"

const feed = (input: Buffer): Verdict => {
  const text = textIn(input)
  const parts = parseUri(text)
  if (Result.isSuccess(parts)) queryParameter(parts.success.query ?? "", "priority")
  const window = parseWindowUri(text)
  must(Result.isSuccess(window) === isWindowUri(text), "isWindowUri disagrees")
  if (Result.isSuccess(window)) {
    must(hasWindowScheme(text), "hasWindowScheme rejects a window")
    const { priority } = window.success
    must(priority === null || (Number.isInteger(priority) && priority >= 0 && priority <= 100), "priority")
    const again = Result.flatMap(buildWindowUri(window.success), parseWindowUri)
    must(isDeepStrictEqual(Result.getOrUndefined(again), window.success), "a window changes in a round trip")
  } else must(window.failure.message.length > 0, "an error has no message")
  const document = parseDpeUri(text)
  if (Result.isSuccess(document)) {
    const { docRef, host, path, isTrimmed, uri } = document.success
    must(docRef === path.join("/") && text.startsWith(uri), "the parts of a document URI differ from it")
    must(Result.isSuccess(parseStrictDpeUri(text)) === !isTrimmed, "parseStrictDpeUri disagrees")
    const again = Result.flatMap(buildDpeUri(host, path), parseDpeUri)
    must(
      Result.isSuccess(again) && isDeepStrictEqual(again.success.path, path) && again.success.host === host,
      "a document changes in a round trip"
    )
  }
  const inOffice = toOfficeUri({ computer, uri: text })
  if (inOffice !== undefined) {
    const back = parseOfficeUri(inOffice, ["other", computer])
    must(back?.computer === computer, "an office URI names another Computer")
    must(back?.uri.toLowerCase() === text.toLowerCase(), "an office URI names another resource")
  }
  parseOfficeUri(text, [computer, text])
  must(/^[A-Za-z0-9_-]{1,64}$/.test(exposedName({ owner: text, tool: text }, 64)), "an exposed name is invalid")
  hostLabel(text)
  if (text !== "" && text.toLowerCase() !== "ui://") {
    const back = parseServerUri(toServerUri({ computer, server: "files", uri: text }), ["other", computer])
    must(back?.computer === computer && back.server === "files", "a URI names another MCP server")
    must(back?.uri.toLowerCase() === text.toLowerCase(), "a URI names another resource of its MCP server")
  }
  parseServerUri(text, [computer, text])
  const task = parseTaskId(text)
  if (task !== undefined) {
    must(isDeepStrictEqual(parseTaskId(formatTaskId(task)), task), "the id of a task names another one")
  }
  return Result.isSuccess(window) || Result.isSuccess(document) ? "accepted" : "refused"
}

/** URIs of windows and documents, and names of tools. */
export const uriSurface: Surface = {
  name: "uris",
  about: "window:// and dpe:// URIs, those of an office, and exposed names",
  weight: 9,
  lanes: 1,
  corpus: [
    "window://app",
    "window://app/notes?priority=7&fullscreen=true",
    "window://a.b.c/one/two%2Fthree/../x?fullscreen=off&priority=0&other=1",
    "WINDOW://App/%E4%BD%A0?priority=100",
    "dpe://host/doc",
    "dpe://host/folder/a%20b/c?x=1#y",
    "dpe://h//",
    "http://example.org/a?b#c",
    "window://app/x?priority=1&priority=2",
    "mcp://desk/files/note://{id}",
    "ui://desk/files/form",
    "3f2a@desk%20one",
    "dpe://\u4f60\u597d/\u4e16\u754c"
  ].map((text) => Buffer.from(text)),
  words: [
    ["%", "%2F", "%00", "%ED%A0%80", "%zz"],
    ["://", "/", "?", "#", "..", "&", "=", "+"],
    ["priority=", "fullscreen="],
    ["\\ud800", "\\udc00", "\u0000", "\n", "\u2028", "\u00a0"],
    ["window:", "dpe:", "@", ":80", "[::1]"]
  ].flat(),
  longest: 8192,
  open: () => Effect.succeed(pure(feed))
}
