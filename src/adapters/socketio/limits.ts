/** HTTP path of Socket.IO (spec §1). */
export const defaultPath = "/smcp"

/** The path of clients that take the default of Socket.IO: all published peers. */
const socketIoPath = "/socket.io"

/** HTTP paths of a Server with an own listener by default. */
export const defaultPaths: ReadonlyArray<string> = [defaultPath, socketIoPath]

/** Namespace of all events by default (seed 003). */
export const defaultNamespace = "/smcp"

/** Largest message by default, in bytes: enough for a few screenshots. */
export const defaultMaxMessageBytes = 16 * 1024 * 1024

/** Upper bound of the configured message size, in bytes. Clients close the connection beyond twice this size. */
export const maxConfigurableMessageBytes = 48 * 1024 * 1024

/** In milliseconds. */
export const defaultPingInterval = 10_000

/** In milliseconds. Busy clients may answer seconds late, and many answer no ping before the end of a long message. */
export const defaultPingTimeout = 20_000

/** Bytes of a packet beside its body: type, namespace, id and event name. */
export const maxEnvelopeBytes = 1024

/** Bodies up to this many bytes are validated in full by default. */
export const defaultValidateBytes = 16 * 1024

/** Bytes that a connection may send before it is admitted: enough for credentials. */
export const maxUnauthenticatedBytes = 64 * 1024

/** Characters of a foreign namespace that gets an error reply. */
export const maxForeignNamespaceLength = 256

/** Milliseconds until a connection must send a connect packet. */
export const connectTimeout = 45_000

/** Milliseconds until an upgrade to WebSocket must be complete. */
export const upgradeTimeout = 10_000

/** Milliseconds that a peer has to agree to a close and to read the messages sent before. */
export const closeTimeout = 1000

/** Excess connections that may wait for an error. Above, the longest waiting one is closed: members connect at once. */
export const maxExcessConnections = 256

/** Bytes of a response of several messages: building a longer string takes so long that other members notice. */
export const maxPollResponseBytes = 1024 * 1024
