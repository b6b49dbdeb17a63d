import { maxLogMembers, truncateLogText } from "../../application/shared/logLimits.ts"
import { isSecretName } from "../../domain/text/secretNames.ts"
import { isJsonObject, maxJsonDepth } from "../../domain/json.ts"

const placeholder = "<redacted>"

/** Every pattern takes linear time: foreign texts are redacted. */
const secretPatterns: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  // The password of a URL: redis://user:password@host. It may contain an unescaped @.
  [/([a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/?#@]*):[^\s/?#]+@/gi, `$1:${placeholder}@`],
  // A scheme without a value is documentation, not a secret.
  [/\b(authorization["']?\s*[:=]\s*["']?)(?!(?:basic|bearer)["']?$)(?:[a-z]+\s+)?[^\s"',;]+/gi, `$1${placeholder}`],
  [/\b(bearer\s+)(?=[^\s"',;]*[\d._-])[\w.~+/=-]{8,}/gi, `$1${placeholder}`],
  [/([?&](?:access_token|token|api_?key|key|secret|password|sig|signature)=)[^&\s"'#]+/gi, `$1${placeholder}`],
  // A JSON Web Token.
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, placeholder]
]

/** Finds what every text with a match of {@link secretPatterns} has. Most texts have none of it. */
const possibleSecret = /:\/\/|authorization|bearer|[?&]|eyJ/i

/** Replaces secrets that their context reveals. Truncates a text that is too long for the log. */
export const redactText = (text: string): string =>
  truncateLogText(text, (shown) =>
    possibleSecret.test(shown)
      ? secretPatterns.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), shown)
      : shown
  )

/** Redacts members with secret names, and secrets in texts. The last line of defence: code must not log secrets. */
export const redact = (value: unknown, depth = maxJsonDepth): unknown => {
  if (typeof value === "string") return redactText(value)
  if (value instanceof Error) return redactText(`${value.name}: ${value.message}`)
  if (depth === 0) return "…"
  if (Array.isArray(value)) return value.slice(0, maxLogMembers).map((item: unknown) => redact(item, depth - 1))
  if (typeof value !== "object" || value === null) return value
  // The JSON of a URL is its text, which may hold a secret.
  if ("toJSON" in value && typeof value.toJSON === "function") return redact(value.toJSON(), depth - 1)
  // Class instances may be cyclic, so only their class is logged.
  if (!isJsonObject(value)) return `[${value.constructor.name}]`
  return Object.fromEntries(
    Object.entries(value)
      .slice(0, maxLogMembers)
      .map(([name, member]) => [
        name,
        isSecretName(name) && (typeof member === "string" || typeof member === "object") && member !== null
          ? placeholder
          : redact(member, depth - 1)
      ])
  )
}
