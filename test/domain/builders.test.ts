import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import { formatAnswerErrors, parseAnswerErrors } from "../../src/domain/approvals/Approval.ts"
import { BlobReference, formatBlobHandle, parseBlobHandle } from "../../src/domain/blobs/blobHandle.ts"
import { organizeDesktop, parseRenderedWindow } from "../../src/domain/desktop/organizeDesktop.ts"
import { buildWindowUri, isWindowUri, parseWindowUri } from "../../src/domain/desktop/WindowUri.ts"
import { decodeDeviceMessage, makeDeviceMessage } from "../../src/domain/devices/deviceMessages.ts"
import { encodeJson } from "../../src/domain/devices/framing/encoder.ts"
import { formatCredentials, formatStatus, parseCredentials, parseStatus } from "../../src/domain/devices/handshake.ts"
import { buildDpeUri, parseStrictDpeUri } from "../../src/domain/documents/DpeUri.ts"
import { formatSpacedJson, parseJson } from "../../src/domain/json.ts"
import { type CallStatus, truncateServerNames } from "../../src/domain/model/CallStatus.ts"
import {
  parseOfficeUri,
  parseServerUri,
  parseSkillUri,
  toOfficeUri,
  toServerUri,
  toSkillUri
} from "../../src/domain/office/officeUris.ts"
import { parseAppDomains } from "../../src/domain/page/apps/appDomains.ts"
import { parseResultUri, toResultUri } from "../../src/domain/results/resultUris.ts"
import { formatTaskId, parseTaskId } from "../../src/domain/office/taskIds.ts"
import { parsePackage } from "../../src/domain/packs/npmPackages.ts"
import { formatSkillName, parseSkillName } from "../../src/domain/skills/skillNames.ts"
import { makeDecoder } from "../../src/domain/validation.ts"
import { ToolMeta } from "../../src/domain/config/toolMeta.ts"
import { formatToolMeta, parseToolMeta } from "../../src/domain/tools/toolMeta.ts"
import { formatTraceparent, parseTraceparent } from "../../src/domain/traceContext.ts"
import { checkUriParts, formatUri, parseUri } from "../../src/domain/uri.ts"
import { decodeUtf8, encodeUtf8 } from "../../src/domain/utf8.ts"
import { line } from "../../src/domain/wire/v0_2/line.ts"
import { formatVersion, parseVersion } from "../../src/domain/wire/version.ts"
import { framesOf, decode, sent } from "./devices/streams.ts"
import { Draft, sendable } from "./devices/frames.ts"
import { Notifications } from "./wire/v0_2/notificationSamples.ts"
import { copyJson } from "../copyJson.ts"
import { formatEntry, parseEntry } from "../../src/domain/schemas/formValue.ts"

const joined = (words: ReadonlyArray<string>) => words.join("")
const Text = Schema.Array(
  Schema.Literals([
    "a",
    "B",
    "ü",
    "😀",
    "\ud800",
    " ",
    "\n",
    "\r",
    "\0",
    "/",
    "?",
    "#",
    "##",
    "%",
    "%2F",
    ":",
    "@",
    "&",
    "="
  ])
)
const UriText = Schema.Array(
  Schema.Literals([
    "window://",
    "dpe://",
    "h",
    "/",
    "a%2Fb",
    "ü",
    " ",
    "\n",
    "..",
    "?",
    "&",
    "#",
    "priority=7",
    "fullscreen=on"
  ])
)
const SkillNameText = Schema.Array(Schema.Literals(["mcp", ":", "a", "-", "7", "_", "A", "."]))
const PriorityNumber = Schema.Union([Schema.Int.check(Schema.isBetween({ minimum: -1, maximum: 101 })), Schema.Finite])
const decodeMeta = makeDecoder(ToolMeta)

const covered = new Set<string>()

/** A builder and its parser by the common part of their names; the check compares values before and after. */
const Offset = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e12 }))

const inverse = <A>(pair: string, about: string, schema: Schema.Schema<A>, check: (value: A) => void) => {
  covered.add(pair)
  it.prop(`${about} (${pair})`, { value: schema }, ({ value }) => check(value))
}

describe("builder", () => {
  inverse(
    "WindowUri",
    "rejects the parts of a window URI, or keeps them",
    Schema.Struct({
      host: Text,
      path: Schema.Array(Text),
      priority: PriorityNumber,
      fullscreen: Schema.NullOr(Schema.Boolean)
    }),
    ({ host, path, ...parameters }) => {
      const window = { ...parameters, host: joined(host), path: path.map(joined) }
      const uri = buildWindowUri(window)
      if (Result.isSuccess(uri)) {
        // Zero has one spelling.
        const expected = { ...window, priority: window.priority + 0 }
        assert.deepStrictEqual(parseWindowUri(uri.success), Result.succeed(expected))
      }
    }
  )

  inverse("WindowUri", "accepts every parsed window URI", UriText, (words) => {
    const window = parseWindowUri(joined(words))
    if (Result.isSuccess(window)) {
      assert.deepStrictEqual(Result.flatMap(buildWindowUri(window.success), parseWindowUri), window)
    }
  })

  inverse("Uri", "keeps the parts that pass the check", Schema.Tuple([Text, Schema.Array(Text)]), ([host, path]) => {
    const parts = { host: joined(host), path: path.map(joined) }
    const parsed = parseUri(formatUri("x", parts.host, parts.path))
    if (Result.isSuccess(checkUriParts(parts.host, parts.path)) && Result.isSuccess(parsed)) {
      assert.deepStrictEqual(parsed.success, { scheme: "x", ...parts, query: undefined, fragment: undefined })
    }
  })

  inverse(
    "DpeUri",
    "rejects the parts of a document URI, or keeps them",
    Schema.Struct({ host: Text, path: Schema.Array(Text) }),
    (words) => {
      const [host, path] = [joined(words.host), words.path.map(joined)]
      const uri = buildDpeUri(host, path)
      if (Result.isSuccess(uri)) {
        const parsed = Result.getOrThrow(parseStrictDpeUri(uri.success))
        assert.deepInclude(parsed, { host, path, uri: uri.success, docRef: path.join("/"), isTrimmed: false })
      }
    }
  )

  inverse("DpeUri", "accepts every parsed document URI", UriText, (words) => {
    const document = parseStrictDpeUri(joined(words))
    if (Result.isSuccess(document)) {
      const { docRef, host, path } = document.success
      const again = Result.getOrThrow(Result.flatMap(buildDpeUri(host, path), parseStrictDpeUri))
      assert.deepStrictEqual([again.host, again.path, again.docRef], [host, path, docRef])
    }
  })

  inverse("BlobHandle", "keeps the reference of a blob", BlobReference, (reference) =>
    assert.deepStrictEqual(parseBlobHandle(formatBlobHandle(reference)), reference)
  )

  inverse(
    "SkillUri",
    "finds the file of a skill for its URI",
    Schema.Struct({ computer: Schema.NonEmptyString, skill: Schema.NonEmptyString, relPath: Schema.NonEmptyString }),
    (file) => {
      const isWellFormed = Object.values(file).every((text) => text.isWellFormed())
      if (isWellFormed) assert.deepStrictEqual(parseSkillUri(toSkillUri(file), ["other", file.computer]), file)
    }
  )

  inverse(
    "ResultUri",
    "keeps the page of a result",
    Schema.Struct({
      id: Schema.Literals(["0-a1", "12-ff"]),
      binary: Schema.UndefinedOr(Schema.Literals([1, 99])),
      offset: Offset
    }),
    (page) => assert.deepStrictEqual(parseResultUri(toResultUri(page)), page)
  )

  inverse("SkillName", "keeps every parsed name of a skill", SkillNameText, (words) => {
    const name = words.join("")
    const parsed = parseSkillName(name)
    if (Result.isSuccess(parsed)) assert.strictEqual(formatSkillName(parsed.success), name)
  })

  inverse(
    "TaskId",
    "keeps the id and the Computer of a task",
    Schema.Struct({ id: Schema.NonEmptyString, computer: Schema.NonEmptyString }),
    (task) => {
      const isParsable = !task.id.includes("@") && task.computer.isWellFormed()
      if (isParsable) assert.deepStrictEqual(parseTaskId(formatTaskId(task)), task)
    }
  )

  inverse(
    "ServerUri",
    "keeps the Computer, the MCP server and the URI",
    Schema.Tuple([Schema.NonEmptyString, Schema.NonEmptyString, UriText]),
    ([computer, server, words]) => {
      const resource = { computer, server, uri: joined(words) }
      const isParsable = server.isWellFormed() && resource.uri !== "" && !/^ui:\/\/$/i.test(resource.uri)
      if (isParsable) assert.deepStrictEqual(parseServerUri(toServerUri(resource), ["other", computer]), resource)
    }
  )

  inverse(
    "OfficeUri",
    "keeps the Computer and the URI",
    Schema.Tuple([Schema.NonEmptyString, UriText]),
    ([computer, words]) => {
      const resource = { computer, uri: joined(words) }
      const uri = toOfficeUri(resource)
      if (uri !== undefined) assert.deepStrictEqual(parseOfficeUri(uri, [`${computer}2`, computer]), resource)
    }
  )

  inverse(
    "RenderedWindow",
    "keeps the URI and the text of a window",
    Schema.Tuple([UriText, Text]),
    ([words, texts]) => {
      const [uri, text] = [joined(words), joined(texts)]
      const { entries } = organizeDesktop([{ server: "s", uri, contents: [{ text }] }], undefined, [])
      const expected = isWindowUri(uri) ? [{ uri, text: text.trim() }] : []
      assert.deepStrictEqual(entries.map(parseRenderedWindow), expected)
    }
  )

  inverse(
    "Version",
    "keeps all numbers within the length",
    Schema.Struct({ major: Schema.Natural, minor: Schema.Natural, patch: Schema.Natural }),
    (version) => {
      assert.deepStrictEqual(parseVersion(formatVersion(version)), Result.succeed(version))
    }
  )

  inverse(
    "Version",
    "gives the parsed text of a version",
    Schema.Array(Schema.Literals(["0", "1", "9007199254740993", "."])),
    (words) => {
      const version = parseVersion(joined(words))
      if (Result.isSuccess(version)) assert.strictEqual(formatVersion(version.success), joined(words))
    }
  )

  inverse(
    "Traceparent",
    "keeps a span, and rejects invalid ids",
    Schema.Struct({
      trace: Schema.Array(Schema.Literals(["0", "a", "f0"])),
      span: Schema.Array(Schema.Literals(["0", "9", "g"])),
      sampled: Schema.Boolean
    }),
    ({ sampled, span, trace }) => {
      const context = { traceId: joined(trace).padStart(32, "0"), spanId: joined(span).padStart(16, "c"), sampled }
      const text = formatTraceparent(context)
      if (text === undefined)
        assert.notMatch(`${context.traceId}-${context.spanId}`, /^(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}$/)
      else assert.deepStrictEqual(parseTraceparent(text), context)
    }
  )

  inverse(
    "Credentials",
    "rejects credentials, or keeps them",
    Schema.Struct({ token: Text, options: Schema.Array(Schema.Tuple([Text, Text])) }),
    (words) => {
      const options = new Map(words.options.map(([name, value]) => [joined(name), joined(value)]))
      const credentials = { token: joined(words.token), options }
      const text = formatCredentials(credentials)
      if (Result.isSuccess(text)) assert.deepStrictEqual(parseCredentials(text.success), credentials)
    }
  )

  inverse("Status", "keeps every parsed status", Text, (words) => {
    const status = parseStatus(joined(words))
    assert.deepStrictEqual(parseStatus(formatStatus(status.kind, status.text)), status)
  })

  inverse(
    "DeviceMessage",
    "keeps every message of a device",
    Schema.Tuple([Schema.NonEmptyString, Schema.Json]),
    ([id, json]) => {
      // Devices reject members of this name.
      const value = JSON.parse(
        JSON.stringify(json, (name, member: unknown) => (name === "__proto__" ? undefined : member))
      )
      const decoded = (message: unknown) => decodeDeviceMessage(encodeJson(message))
      for (const outcome of [{ success: true, data: value } as const, { success: false, error: id } as const]) {
        assert.deepStrictEqual(
          decoded(makeDeviceMessage.result(id, outcome)),
          Result.succeed({ _tag: "Result", callId: id, outcome })
        )
      }
      assert.deepStrictEqual(
        decoded(makeDeviceMessage.call(id, id, { value })),
        Result.succeed({ _tag: "Call", callId: id, method: id, params: { value } })
      )
      assert.deepStrictEqual(
        decoded(makeDeviceMessage.registered(id.length, [id])),
        Result.succeed({ _tag: "Registered", services: id.length, faults: [id] })
      )
      const service = { description: id, parameters: { value } }
      assert.deepStrictEqual(
        decoded(makeDeviceMessage.register(new Map([["s", { name: "s", ...service }]]))),
        Result.succeed({ _tag: "Register", definitions: { s: service }, duplicates: [] })
      )
    }
  )

  inverse("Frame", "keeps a frame", Draft, (draft) => {
    for (const frame of sendable([draft])) assert.deepStrictEqual(framesOf(decode(sent(frame))), [frame])
  })

  inverse(
    "Package",
    "keeps a package",
    Schema.Array(Schema.Literals(["a", "@", "/", "1", ".", "^", "==", " ", "x"])),
    (words) => {
      const parsed = parsePackage(joined(words))
      if (Result.isFailure(parsed)) return
      const { name, spec } = parsed.success
      assert.deepStrictEqual(parsePackage(spec), Result.succeed({ name, spec, hint: undefined }))
    }
  )

  inverse("Json", "keeps every JSON value", Schema.Json, (value) => {
    assert.deepStrictEqual(Option.map(decodeUtf8(encodeJson(value)), parseJson), Option.some(copyJson(value)))
  })

  inverse("SpacedJson", "keeps every JSON value", Schema.Json, (value) => {
    assert.deepStrictEqual(parseJson(formatSpacedJson(value)), copyJson(value))
  })

  inverse(
    "ToolMeta",
    "keeps the settings of a tool",
    Schema.Struct({ alias: Schema.NonEmptyString, mapper: Schema.Json, extra: Schema.Json }),
    ({ alias, extra, mapper }) => {
      const wire = { alias, tags: [alias], ret_object_mapper: { mapper: copyJson(mapper) }, extra: copyJson(extra) }
      const meta = Result.getOrThrow(decodeMeta(wire))
      assert.deepStrictEqual(parseToolMeta(formatToolMeta({ a: 1 }, { b: 2 }, meta)), meta)
    }
  )

  inverse("Utf8", "keeps every text without a leading byte order mark", Text, (words) => {
    const text = joined(words).toWellFormed()
    assert.deepStrictEqual(decodeUtf8(encodeUtf8(text)), Option.some(text))
  })

  inverse("Notification", "keeps every notification", Notifications, (notification) => {
    const { body, event } = line.encodeNotification(notification)
    assert.deepStrictEqual(line.decodeNotification(event, copyJson(body)), Result.succeed(notification))
  })

  inverse(
    "CallStatus",
    "keeps the status of a call",
    Schema.Struct({ servers: Schema.Array(Schema.String), name: Schema.NonEmptyString, count: Schema.Int }),
    ({ count, name, servers }) => {
      const waits: ReadonlyArray<CallStatus> = [
        { _tag: "WaitingForConsent", computer: name },
        { _tag: "Decided", computer: name, isAllowed: count > 0, by: "ann", isQuestion: true },
        { _tag: "WaitingForServers", computer: name, servers: truncateServerNames(servers) },
        { _tag: "Progressing", computer: name, progress: count + 0 },
        { _tag: "Progressing", computer: name, progress: 1, total: count + 0, message: name.slice(0, 9).toWellFormed() }
      ]
      for (const status of waits) {
        const wire = copyJson(line.encodeCallStatus({ reqId: name, status }))
        assert.deepStrictEqual(line.decodeCallStatus(wire), Result.succeed({ reqId: name, status }))
      }
    }
  )

  inverse(
    "AnswerErrors",
    "keeps violations by the names of their fields",
    Schema.Array(
      Schema.Struct({ name: Schema.Literals(["a", "b c", "d/e~", "ü"]), text: Schema.Literals(["is bad", "x"]) })
    ),
    (violations) => {
      const found = new Map(violations.map(({ name, text }) => [name, text]))
      const pointer = (name: string) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`
      const message = formatAnswerErrors([...found].map(([name, text]) => `${pointer(name)}: ${text}`))
      assert.deepStrictEqual(new Map(parseAnswerErrors(message)), found.size === 0 ? new Map([["", ""]]) : found)
    }
  )

  inverse(
    "ProtocolError",
    "keeps every decoded error",
    Schema.Tuple([Schema.Int, Schema.String, Schema.Json, Schema.Json]),
    ([code, message, details, extra]) => {
      const error = line.decodeProtocolError({ code, message, details: { details }, extra, error: { extra } })
      assert.isDefined(error)
      if (error !== undefined) assert.deepStrictEqual(line.decodeProtocolError(line.encodeProtocolError(error)), error)
    }
  )

  inverse("MembershipAck", "keeps the reason of a rejection", Schema.String, (message) => {
    assert.deepStrictEqual(
      line.decodeMembershipAck(line.encodeMembershipAck(Result.fail({ message }))),
      Result.fail(message)
    )
    assert.deepStrictEqual(line.decodeMembershipAck(line.encodeMembershipAck(Result.void)), Result.void)
  })

  inverse("AppDomains", "keeps the domains of an app", Schema.Array(Schema.NonEmptyString), (labels) => {
    const origins = labels.map((label) => `https://${label}.example`)
    const domains = parseAppDomains({
      connectDomains: origins,
      resourceDomains: origins,
      frameDomains: [...origins, 7]
    })
    assert.deepStrictEqual(parseAppDomains(domains), domains)
  })

  inverse("Entry", "keeps a JSON value that is entered again", Schema.Json, (value) => {
    const field = { _tag: "Json" } as const
    assert.strictEqual(JSON.stringify(parseEntry(field, true, formatEntry(field, value))), JSON.stringify(value))
  })

  it("has a property for every pair of names in the domain", () => {
    const sources = readdirSync("src/domain", { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(`src/domain/${file}`, "utf8"))
      .join("\n")
    const names = (prefixes: string) =>
      [...sources.matchAll(new RegExp(`export const (?:${prefixes})([A-Z]\\w+)`, "g"))].map(([, name = ""]) => name)
    const parsed = new Set(names("parse|decode"))
    const pairs = names("build|format|encode|make|to").filter((name) => parsed.has(name))
    assert.deepStrictEqual(
      pairs.filter((name) => !covered.has(name)),
      []
    )
  })
})
