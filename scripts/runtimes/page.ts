/** The functions of a page or of a web worker; the test calls them from outside. */
import { add, joinWithFunctions, useDomain } from "./portable.ts"

/** Joins as a Computer until the page or the worker ends. */
const offerFunctions = async (url: string, name: string): Promise<void> => void (await joinWithFunctions(url, name))

Object.assign(globalThis, { add, offerFunctions, useDomain })
// The page of a web worker waits for this.
if (!("document" in globalThis)) new BroadcastChannel("workers").postMessage("loaded")
