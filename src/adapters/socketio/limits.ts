/** HTTP path of Socket.IO unless a deployment chooses another (spec §1). */
export const defaultPath = "/smcp"

/** Namespace of all events (seed 003). */
export const namespace = "/smcp"

/** Largest message unless an operator chooses otherwise, in bytes: room for a few screenshots. */
export const defaultMaxMessageBytes = 16 * 1024 * 1024

/** Largest message that can be chosen, in bytes: beyond twice this, clients drop the connection by themselves. */
export const maxConfigurableMessageBytes = 48 * 1024 * 1024

/** How often a member is asked for a sign of life unless an operator chooses otherwise, in milliseconds. */
export const defaultPingInterval = 10_000

/**
 * How long a member has to give it unless an operator chooses otherwise, in milliseconds. A program that works on
 * something else for some seconds has not gone, and clients of others hear nothing before all of a long message has come.
 */
export const defaultPingTimeout = 20_000

/** Bytes a packet may have beyond its body: type, namespace, id and event name. */
export const maxEnvelopeBytes = 1024

/** Bodies up to this many bytes are read in full before they are passed on, unless an operator chooses otherwise. */
export const defaultValidateBytes = 16 * 1024

/** Bytes that somebody may send at once before being let in: room for credentials, and little to hold for strangers. */
export const maxUnauthenticatedBytes = 64 * 1024

/** Characters of a namespace that is not ours and that is answered all the same. */
export const maxForeignNamespaceLength = 256

/** Milliseconds that a peer has to agree to a close and to read what was sent before. */
export const closeTimeout = 1000

/** The longest delay of a timer, in milliseconds. */
export const maxTimerMillis = 2 ** 31 - 1
