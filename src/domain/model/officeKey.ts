/** No valid name has this character. */
const separator = "\u0000"

/** The key of an office of a protocol line. Keys of different lines differ, and differ from all office ids. */
export const officeKeyOfLine = (line: string, officeId: string): string => `${line}${separator}${officeId}`

/** The id of an office, for people and for messages, from its key; an id is its own key. */
export const officeIdOf = (key: string): string => key.slice(key.indexOf(separator) + 1)
