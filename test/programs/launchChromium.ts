import { Effect } from "effect"
import { chromium } from "playwright-core"
import { chromiumBrowser } from "./chromiumBrowser.ts"
import { locate, type Program } from "./Program.ts"
import { temporaryFolder } from "../temporaryFolder.ts"

/** The browser that the tests use; without one they are skipped. */
export const chromiumPath = locate(chromiumBrowser)

/** Start timeout of Chromium on a busy machine, in milliseconds. */
export const browserTimeout = 180_000

/** Disables background activity of the browser. */
const args = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

/** A separate browser with further flags, closed with the scope. */
export const launchChromiumWith = Effect.fnUntraced(function* (
  flags: ReadonlyArray<string>,
  program: Program = chromiumBrowser
) {
  const folder = yield* temporaryFolder
  const executablePath = locate(program)
  const executable = executablePath !== undefined && { executablePath }
  const options = {
    ...executable,
    args: [...args, ...flags],
    // A new profile has none but those of the flags.
    ignoreDefaultArgs: ["--disable-extensions"],
    timeout: browserTimeout
  }
  return yield* Effect.acquireRelease(
    Effect.promise(() => chromium.launchPersistentContext(folder, options)),
    (context) => Effect.promise(() => context.close())
  )
})

/** A separate browser, closed with the scope. */
export const launchChromium = launchChromiumWith([])
