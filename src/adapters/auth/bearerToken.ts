/** The token of `Bearer TOKEN`; `undefined` for other text. */
export const bearerToken = (text: string): string | undefined => /^bearer +(\S*) *$/i.exec(text)?.[1]
