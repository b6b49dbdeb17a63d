/**
 * The words that end a refusal which passes by itself. A refused join is answered with a text alone in line 0.2, so that
 * a member has nothing else to tell it by from one that only its people can do something about.
 */
const retrySuffix = ", try again"

/** Says why something is refused that may be granted a little later. */
export const retryableMessage = (message: string): string => `${message}${retrySuffix}`

/** Does a Server say that what it refuses may be granted a little later? */
export const isRetryableMessage = (message: string): boolean => message.endsWith(retrySuffix)
