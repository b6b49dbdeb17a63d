/** The password of `Basic …`, by which a browser sends what its user types; `undefined` for other text. */
export const basicPassword = (text: string): string | undefined => {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(text)?.[1]
  return encoded === undefined ? undefined : /^[^:]*:(.*)$/s.exec(Buffer.from(encoded, "base64").toString("utf8"))?.[1]
}
