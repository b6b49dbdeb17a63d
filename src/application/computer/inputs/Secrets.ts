/** Holds secret values and replaces them in texts. */
export interface Secrets {
  readonly add: (value: string) => void
  readonly redact: (text: string) => string
}

const redactedMark = "<redacted>"

/** Shorter values are not redacted: they occur in ordinary words. */
const minSecretLength = 4

/** The forms of a value inside a text: verbatim, in JSON, in a URL. */
const encodings = (value: string): ReadonlyArray<string> => [
  value,
  JSON.stringify(value).slice(1, -1),
  encodeURIComponent(value.toWellFormed())
]

export const makeSecrets = (): Secrets => {
  let secrets: ReadonlyArray<string> = []
  return {
    add: (given) => {
      // Servers often trim values before they use them.
      const value = given.trim()
      if (value.length < minSecretLength) return
      // The longest first: a secret may contain another one.
      secrets = [...new Set([...secrets, ...encodings(value)])].sort((one, other) => other.length - one.length)
    },
    redact: (text) => secrets.reduce((safe, secret) => safe.replaceAll(secret, redactedMark), text)
  }
}
