import { Effect } from "effect"

/** The text at a URL, of a response with any status. */
export const fetchText = (url: string) => Effect.promise(async () => (await fetch(url)).text())
