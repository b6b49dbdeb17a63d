/** A text that identifies one kind of thing: those of two kinds are two types. A text of unknown kind is any of them. */
type Id<Kind extends string> = string & { readonly "~kind"?: Kind }

/** The id of a connection, unique in a cluster. */
export type SessionId = Id<"SessionId">

/** The id of a request, unique among those of its sender. */
export type RequestId = Id<"RequestId">

/** The name of a Computer, unique in its office. */
export type ComputerName = Id<"ComputerName">

/** The id of an office, as members and people use it. */
export type OfficeId = Id<"OfficeId">

/** The key of an office inside a Server: its id with the protocol line. */
export type OfficeKey = Id<"OfficeKey">

/** No valid name has this character. */
const separator = "\u0000"

/** The key of an office of a protocol line. Keys of different lines differ, and differ from all office ids. */
export const officeKeyOfLine = (line: string, officeId: OfficeId): OfficeKey => `${line}${separator}${officeId}`

/** The id of an office, for people and for messages, from its key; an id is its own key. */
export const officeIdOf = (key: OfficeKey | OfficeId): OfficeId => key.slice(key.indexOf(separator) + 1)
