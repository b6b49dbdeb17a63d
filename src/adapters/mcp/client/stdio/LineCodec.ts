import { Result } from "effect"
import type { StdioParameters } from "../../../../domain/config/endpointParameters.ts"
import { escapeNonAscii } from "../../../../domain/json.ts"

type ErrorHandler = StdioParameters["encodingErrorHandler"]

export interface LineCodec {
  /** A line ends only at a whole code unit. */
  readonly codeUnitBytes: 1 | 2
  /** Decodes one line, or returns why it is invalid. Stateful: lines must be decoded in order. */
  readonly decode: (line: Uint8Array) => Result.Result<string, string>
  /** Encodes one line of JSON. Stateful: lines must be encoded in order. */
  readonly encode: (json: string) => Uint8Array
}

/**
 * Python's encoding names without punctuation, where the Encoding Standard has another label. The first three have their
 * own codecs, because the standard maps them to a superset, such as windows-1252 for latin1.
 */
const pythonNames = {
  ascii: ["646", "ascii", "usascii"],
  latin1: ["88591", "iso88591", "l1", "latin", "latin1"],
  "utf-16": ["u16", "utf16"],
  big5: ["big5hkscs", "cp950"],
  "euc-jp": ["eucjp"],
  "euc-kr": ["cp949", "euckr", "uhc"],
  gbk: ["cp936"],
  "iso-2022-jp": ["iso2022jp"],
  "koi8-r": ["koi8r"],
  "koi8-u": ["koi8u"],
  macintosh: ["macroman"],
  shift_jis: ["cp932", "mskanji"],
  "utf-16be": ["utf16be"],
  "utf-16le": ["utf16le"],
  "utf-8": ["cp65001", "u8", "utf8sig"],
  "windows-874": ["cp874", "tis620"],
  "x-mac-cyrillic": ["maccyrillic"]
}

const labels = new Map(Object.entries(pythonNames).flatMap(([label, names]) => names.map((name) => [name, label])))

const encodingLabelOf = (name: string): string | undefined => {
  const lower = name.trim().toLowerCase()
  const bare = lower.replace(/[^a-z0-9]/g, "")
  const standardLabelOf = (label: string) => Result.getOrUndefined(Result.try(() => new TextDecoder(label).encoding))
  return (
    labels.get(bare) ?? standardLabelOf(lower) ?? standardLabelOf(lower.replaceAll("_", "-")) ?? standardLabelOf(bare)
  )
}

const byteOrderMark = "\u{feff}"
const replacement = "\u{fffd}"

const asBuffer = ({ buffer, byteLength, byteOffset }: Uint8Array) => Buffer.from(buffer, byteOffset, byteLength)

type Decode = LineCodec["decode"]

/** Decodes without what is invalid in an encoding. An encoded U+FFFD is kept where every character has a code. */
const decodeIgnoringInvalid = (label: string, bytes: Uint8Array, lenient: (bytes: Uint8Array) => string): string => {
  if (label.startsWith("utf-16")) {
    const units = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)))
    return (label === "utf-16be" ? units.swap16() : units).toString("utf16le").replaceAll(/\p{Cs}/gu, "")
  }
  const text = asBuffer(bytes).toString("latin1")
  const pieces = label === "utf-8" ? text.split(Buffer.from(replacement).toString("latin1")) : [text]
  return pieces.map((piece) => lenient(Buffer.from(piece, "latin1")).replaceAll(replacement, "")).join(replacement)
}

const makeStandardDecoder = (label: string, handler: ErrorHandler): Decode => {
  const strict = new TextDecoder(label, { ignoreBOM: true, fatal: true })
  const lenient = new TextDecoder(label, { ignoreBOM: true })
  return (bytes) => {
    const sound = Result.try({ try: () => strict.decode(bytes), catch: () => `invalid ${label}` })
    if (Result.isSuccess(sound) || handler === "strict") return sound
    return Result.succeed(
      handler === "replace"
        ? lenient.decode(bytes)
        : decodeIgnoringInvalid(label, bytes, (piece) => lenient.decode(piece))
    )
  }
}

const makeDecoder = (label: string, handler: ErrorHandler): Decode => {
  switch (label) {
    case "ascii":
      return (bytes) => {
        const text = asBuffer(bytes).toString("latin1")
        const sound = text.replace(/[\u{80}-\u{ff}]/gu, handler === "replace" ? replacement : "")
        return handler === "strict" && sound !== text ? Result.fail("invalid ascii") : Result.succeed(sound)
      }
    case "latin1":
      return (bytes) => Result.succeed(asBuffer(bytes).toString("latin1"))
    case "utf-16": {
      // In the byte order of the last byte order mark.
      const little = makeStandardDecoder("utf-16le", handler)
      const big = makeStandardDecoder("utf-16be", handler)
      let decode = little
      return (bytes) => {
        if (bytes[0] === 0xff && bytes[1] === 0xfe) decode = little
        if (bytes[0] === 0xfe && bytes[1] === 0xff) decode = big
        return decode(bytes)
      }
    }
    default:
      return makeStandardDecoder(label, handler)
  }
}

const makeEncoder = (label: string): LineCodec["encode"] => {
  if (label === "utf-8") return (json) => Buffer.from(json)
  // All encodings but UTF-16 encode ASCII as ASCII.
  if (!label.startsWith("utf-16")) return (json) => Buffer.from(escapeNonAscii(json), "latin1")
  // Some readers default to big-endian without a mark. A second mark would be text.
  let mark = label === "utf-16" ? byteOrderMark : ""
  return (json) => {
    const bytes = Buffer.from(mark + json, "utf16le")
    mark = ""
    return label === "utf-16be" ? bytes.swap16() : bytes
  }
}

/** Makes a codec by name. Encoded lines are ASCII where the encoding cannot express all of Unicode. */
export const makeLineCodec = (name: string, handler: ErrorHandler): Result.Result<LineCodec, string> => {
  const label = encodingLabelOf(name)
  if (label === undefined) {
    return Result.fail(`unknown encoding "${name}": use a name such as utf-8, utf-16le, windows-1252 or shift_jis`)
  }
  const decode = makeDecoder(label, handler)
  return Result.succeed({
    codeUnitBytes: label.startsWith("utf-16") ? 2 : 1,
    decode: (line) =>
      Result.map(decode(line), (text) => (text.startsWith(byteOrderMark) ? text.slice(byteOrderMark.length) : text)),
    encode: makeEncoder(label)
  })
}
