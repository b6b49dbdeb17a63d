import { encodeUtf8, truncateUtf8 } from "../utf8.ts"

/** The maximum length of a file name in bytes of UTF-8. File systems allow 143 or more; a number may follow. */
const maxNameBytes = 120

/** The maximum length of a file extension with its dot, in UTF-16 units. A longer one counts as part of the name. */
const maxExtensionLength = 16

/** The name of a file without a usable hint. */
const defaultName = "upload"

/** Control, format, private and unassigned characters, surrogates, and characters that draw nothing. */
const invisibleCharacters = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu

/** Characters with a meaning for file systems of Windows, such as streams and wildcards. */
const reservedCharacters = /[<>:"|?*]/g

/** Names of devices on Windows, with any extension. */
const deviceNamePattern = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])$/i

const splitExtension = (name: string): readonly [stem: string, extension: string] => {
  const dot = name.lastIndexOf(".")
  return dot > 0 && name.length - dot <= maxExtensionLength ? [name.slice(0, dot), name.slice(dot)] : [name, ""]
}

const byteLength = (text: string): number => encodeUtf8(text).length

const trimEnd = (name: string): string => name.replace(/[ .]+$/, "")

/**
 * Makes a file name from a hint of another member. A path counts by its last segment: the hint never chooses a folder.
 * Invisible characters are removed, reserved ones replaced. The name is not hidden, not that of a device, and bounded.
 */
export const safeFileName = (hint = ""): string => {
  const visible = hint.replace(invisibleCharacters, "").normalize("NFC")
  const lastSegment = visible.split(/[/\\]/).findLast((segment) => segment.trim() !== "") ?? ""
  const name = trimEnd(
    lastSegment
      .replace(reservedCharacters, "_")
      .replace(/\s+/g, " ")
      .replace(/^[ .]+/, "")
  )
  if (name === "") return defaultName
  const isDevice = deviceNamePattern.test((name.split(".", 1)[0] ?? "").trimEnd())
  const usable = isDevice ? `_${name}` : name
  if (byteLength(usable) <= maxNameBytes) return usable
  const [stem, extension] = splitExtension(usable)
  return trimEnd(truncateUtf8(stem, maxNameBytes - byteLength(extension))) + extension
}

/** The name of the n-th file with the same name, from 1: `notes.txt`, `notes (2).txt`, … */
export const numberFileName = (name: string, n: number): string => {
  const [stem, extension] = splitExtension(name)
  return n === 1 ? name : `${stem} (${n})${extension}`
}
