import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { type LineName, lineNamed, lineNames } from "../../../src/domain/wire/lines.ts"
import type { ProtocolLine } from "../../../src/domain/wire/ProtocolLine.ts"
import { copyJson } from "../../copyJson.ts"
import { listFiles } from "../../listFiles.ts"
import { type Codec, codecsOf, directions } from "./lineCodecs.ts"

const outcomeFields = {
  decodes: Schema.optionalKey(Schema.Unknown),
  /** The error of the protocol that the reply is. */
  error: Schema.optionalKey(Schema.Unknown),
  /** The places of the errors; that of the whole message is empty. */
  rejects: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The encoded value; the message itself when it is missing. */
  encodes: Schema.optionalKey(Schema.Unknown)
}

/** A file: a message, what its line makes of it, and in `others` the lines that make something else of it. */
const Golden = Schema.Struct({
  description: Schema.NonEmptyString,
  direction: Schema.Literals(directions),
  message: Schema.Unknown,
  ...outcomeFields,
  others: Schema.optionalKey(
    Schema.Array(Schema.Struct({ lines: Schema.Array(Schema.Literals(lineNames)), ...outcomeFields }))
  )
})
type Golden = typeof Golden.Type

/** What a line makes of a message by its file: as the file's own line, where the file states nothing else. */
const statedOutcome = (line: LineName, { others = [], ...golden }: Golden): unknown => {
  const other = others.find(({ lines }) => lines.includes(line)) ?? {}
  const { decodes, encodes = golden.message, error, rejects } = { ...golden, ...other }
  return rejects === undefined || "decodes" in other ? { decodes, error, encodes } : { rejects }
}

const outcomeOf = (line: ProtocolLine, codec: Codec, { direction, message }: Golden): unknown => {
  const error = direction === "reply" ? line.decodeProtocolError(message) : undefined
  if (error !== undefined) {
    const { code, details, extra, message: text } = error
    return { error: { code, message: text, details, extra }, encodes: line.encodeProtocolError(error) }
  }
  return Result.match(codec.decode(message), {
    onFailure: (text) => ({
      rejects: text.split("; ").map((issue) => issue.slice(0, Math.max(0, issue.indexOf(": "))))
    }),
    onSuccess: (value) => ({ decodes: value, encodes: codec.encode(value as never) })
  })
}

const root = "test/fixtures/wire"
const decodeGolden = Schema.decodeUnknownSync(Golden, { onExcessProperty: "error" })
const files = listFiles(root)
  .filter((path) => path.endsWith(".json"))
  .map((path) => ({
    path: path.slice(root.length + 1),
    golden: decodeGolden(JSON.parse(readFileSync(path, "utf8")))
  }))

const table = lineNames.flatMap((name) =>
  codecsOf(lineNamed(name)).map(([event, codecs]) => ({ name, folder: event.replace(":", "_"), codecs }))
)
const cases = table.flatMap(({ codecs, folder, name }) =>
  files
    .filter(({ path }) => path.split("/")[1] === folder)
    .map(({ golden, path }) => [path, name, golden, codecs[golden.direction]] as const)
)

describe("the corpus of messages", () => {
  it("has only folders of events", () => {
    const folders = new Set(table.map(({ folder, name }) => `${name}/${folder}`))
    const others = files.map(({ path }) => path).filter((path) => !folders.has(path.slice(0, path.lastIndexOf("/"))))
    assert.deepStrictEqual(others, [])
  })

  it.each(table)("has valid and invalid messages of $folder in $name", ({ codecs, folder, name }) => {
    const own = files.filter(({ path }) => path.startsWith(`${name}/${folder}/`)).map(({ golden }) => golden)
    const missing = directions.flatMap((direction) => {
      const codec = codecs[direction]
      const kinds = codec === undefined ? [] : codec.isTotal ? ["decodes"] : ["decodes", "rejects"]
      const ofDirection = own.filter((golden) => golden.direction === direction)
      return kinds.filter((kind) => !ofDirection.some((golden) => kind in golden)).map((kind) => `${direction} ${kind}`)
    })
    assert.deepStrictEqual(missing, [])
  })

  it.each(cases)("gives for %s in %s what it states", (_path, name, golden, codec) => {
    if (codec === undefined) return assert.fail(`The event has no ${golden.direction}`)
    assert.deepStrictEqual(copyJson(outcomeOf(lineNamed(name), codec, golden)), copyJson(statedOutcome(name, golden)))
  })
})
