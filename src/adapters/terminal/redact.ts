import { isJsonObject, maxJsonDepth } from "../../domain/json.ts"

/** What stands where a secret was. */
const placeholder = "<redacted>"

/** Names of members whose values are secrets, however they are spelled: `apiKey`, `X-API-Key`, `mcp_token`. */
const secretNamePattern =
  /(authorization|token|secret|passwd|password|api[-_]?key|cookie|credentials?|private[-_]?key)$/i

/** Secrets that show by what is around them. */
const secretPatterns: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  // The password of a URL: redis://user:password@host. An @ in it should be escaped, and often is not.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s/?#]+@/gi, `$1:${placeholder}@`],
  // A scheme without anything behind it is how to do it, not a secret.
  [
    /\b(authorization["']?\s*[:=]\s*["']?)(?!(?:basic|bearer)["']?$)(?:[a-z]+\s+)?[^\s"',;]+/gi,
    `$1${placeholder}`
  ],
  [/\b(bearer\s+)(?=[^\s"',;]*[\d._-])[\w.~+/=-]{8,}/gi, `$1${placeholder}`],
  [
    /([?&](?:access_token|token|api_?key|key|secret|password|sig|signature)=)[^&\s"'#]+/gi,
    `$1${placeholder}`
  ],
  // A JSON Web Token, wherever it stands.
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, placeholder]
]

/** A text without the secrets that can be told by what is around them. */
export const redactText = (text: string): string =>
  secretPatterns.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text)

/**
 * A value for the log: members with names of secrets, and what looks like a secret in texts, are replaced; errors
 * become their words. It is the last line of defence; code should not log secrets in the first place.
 */
export const redact = (value: unknown, depth = maxJsonDepth): unknown => {
  if (typeof value === "string") return redactText(value)
  if (value instanceof Error) return redactText(`${value.name}: ${value.message}`)
  if (depth === 0) return "…"
  if (Array.isArray(value)) return value.map((item: unknown) => redact(item, depth - 1))
  if (typeof value !== "object" || value === null) return value
  // Whatever may hold anything, even itself, is named and not looked into.
  if (!isJsonObject(value)) return "toJSON" in value ? value : `[${value.constructor.name}]`
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      secretNamePattern.test(name) &&
      (typeof member === "string" || typeof member === "object") &&
      member !== null
        ? placeholder
        : redact(member, depth - 1)
    ])
  )
}
