import { isDeepStrictEqual } from "node:util"
import { Effect, Result } from "effect"
import { parseSimpleKeys } from "../../../src/adapters/auth/apiKeyEntries.ts"
import { parsePlaceholder, findPlaceholders, renderPlaceholders } from "../../../src/domain/config/placeholders.ts"
import {
  isValidDeviceToken,
  isValidAuthField,
  parseCredentials,
  parseStatus,
  formatCredentials,
  formatStatus
} from "../../../src/domain/devices/handshake.ts"
import { parseEmbeddedFile } from "../../../src/domain/packs/params/embeddedFile.ts"
import { detectPack, parsePackName } from "../../../src/domain/packs/packNames.ts"
import { parsePackage, parsePackages } from "../../../src/domain/packs/npmPackages.ts"
import { resolveRef } from "../../../src/domain/schemas/jsonSchema.ts"
import { formatVersion, versionGate, parseVersion } from "../../../src/domain/wire/version.ts"
import { formatTraceparent, parseTraceparent } from "../../../src/domain/traceContext.ts"
import { textIn } from "./textIn.ts"
import { must, pure, type Surface, type Verdict } from "../Surface.ts"

const server = { major: 0, minor: 2, patch: 0 }

const checkVersion = (text: string): boolean => {
  const version = parseVersion(text)
  const passed = versionGate([text], [server])
  if (Result.isFailure(version)) {
    must(Result.isFailure(passed), "an invalid version passed")
    return false
  }
  must(formatVersion(version.success) === text, "a version changes in a round trip")
  must(
    Result.isFailure(versionGate([text, text], [server])) && Result.isFailure(versionGate([], [server])),
    "two versions, or none, passed"
  )
  return true
}

const checkTrace = (text: string): boolean => {
  const trace = parseTraceparent(text)
  if (trace === undefined) return false
  const { sampled, spanId, traceId } = trace
  must(/^[0-9a-f]{32}$/.test(traceId) && /^[0-9a-f]{16}$/.test(spanId), "ids are invalid")
  const written = formatTraceparent(trace)
  must(written?.slice(0, -2) === text.slice(0, -2), "a trace changes in a round trip")
  must(parseTraceparent(written ?? "")?.sampled === sampled, "another flag")
  return true
}

const checkPlaceholders = (text: string): boolean => {
  const found = findPlaceholders(text)
  for (const one of found) {
    const reference = parsePlaceholder(one)
    must(reference._tag === "Variable" || one.includes(":"), "a reference has no target")
  }
  const kept = renderPlaceholders({ a: [text] }, () => undefined).value
  must(JSON.stringify(kept) === JSON.stringify({ a: [text] }), "an unknown placeholder changed")
  const filled = renderPlaceholders(text, (name) => (name.length % 2 === 0 ? 7 : `$&${name}`))
  must(filled.unresolved.size === 0, "a known placeholder stayed unresolved")
  return found.length > 0
}

const checkSession = (text: string): boolean => {
  const shown = parseCredentials(text)
  must(isValidAuthField(shown.token), "a token cannot be encoded")
  if (isValidDeviceToken(shown.token)) {
    const again = Result.map(formatCredentials(shown), parseCredentials)
    must(isDeepStrictEqual(again, Result.succeed(shown)), "credentials change in a round trip")
  }
  const status = parseStatus(text)
  must(typeof status.kind === "string" && typeof status.text === "string", "no status")
  const again = parseStatus(formatStatus(status.kind.replaceAll(/[:#]/g, ""), "x"))
  must(again.text === "x", "a status changes in a round trip")
  return shown.token !== ""
}

const checkPackages = (text: string): boolean => {
  const read = parsePackage(text)
  if (Result.isSuccess(read)) {
    const { spec } = read.success
    must(!/[\s;&|`$<>"'\\]/.test(spec) && !spec.startsWith("-"), "a shell could interpret it")
    must(Result.isSuccess(parsePackage(spec)), "a formatted package cannot be parsed")
  }
  parsePackages(text.split(","))
  return Result.isSuccess(read)
}

const checkNames = (text: string): boolean => {
  const name = parsePackName(text)
  if (Result.isSuccess(name)) must(name.success.className.endsWith("Tool"), "the class name is not a tool class")
  const files = text.split(",")
  const alone = detectPack({ name: text, files: undefined })
  const folder = detectPack({ name: files[0] ?? "", files })
  return [alone, folder].some((one) => one !== undefined && Result.isSuccess(one.outcome))
}

/** A key of the corpus that must not appear in messages. */
const secret = "a secret key of many characters"

const document = { $defs: { a: { type: "string" } }, list: [1, [2]] }

const feed = (input: Buffer): Verdict => {
  const text = textIn(input)
  resolveRef(document, text)
  const embedded = parseEmbeddedFile(text)
  const keys = parseSimpleKeys(text)
  if (Result.isSuccess(keys))
    must(
      keys.success.every(({ hash }) => /^[0-9a-f]{64}$/.test(hash)),
      "a hash"
    )
  else must(!keys.failure.includes(secret), "an error leaks a key")
  const read = [
    checkVersion(text),
    checkTrace(text),
    checkPlaceholders(text),
    checkSession(text),
    checkPackages(text),
    checkNames(text),
    Result.isSuccess(embedded),
    Result.isSuccess(keys)
  ]
  return read.some((one) => one) ? "accepted" : "refused"
}

/** Short texts, each fed to all parsers of short texts. */
export const textSurface: Surface = {
  name: "texts",
  about: "versions, traceparents, placeholders, credentials, names and packages of packs, data URLs, keys",
  weight: 14,
  lanes: 1,
  corpus: [
    "0.2.0",
    "10.20.30",
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "${input:token}",
    "Bearer ${env:TOKEN:-none} and ${userHome}${/}x ${input:a b}",
    "secret##name:lamp##lang:zh",
    "##INFO:AUTHENTICATED",
    "##PING",
    "zod@^4.1.0",
    "@scope/name@1.x",
    "numpy==1.2.3",
    "left-pad,zod@4,@a/b",
    "text_counter,text_counter_tool.ts,index.ts,config.yaml",
    "video_generate_tool.mjs",
    "data:text/plain;name=notes.txt;base64,aGVsbG8=",
    "data:,%41%42",
    "#/$defs/a",
    "#/list/1/0",
    `alice=${secret},bob=sha256:${"ab".repeat(32)}`
  ].map((text) => Buffer.from(text)),
  words: [
    ["${", "}", "input:", "env:", ":-", "$&", "$1"],
    ["##", ":", "@", "==", "../", "-"],
    ["%", "%zz", "~1"],
    ["data:", ";base64,", ";name=", "=", ","],
    ["_tool.ts", "__proto__", "constructor"],
    ["\\ud800", "\u0000", "\u212a", "\ufb01"],
    ["sha256:", "00-", ".", "99999999999999999999"]
  ].flat(),
  longest: 8192,
  open: () => Effect.succeed(pure(feed))
}
