import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { browserTimeout, chromiumPath, launchChromium } from "../../programs/launchChromium.ts"
import { servePage } from "./pageServer.ts"

/** The errors of a script of the page, which Chromium types; `allowed` without one. */
const attempts = `[
  () => (document.createElement("div").innerHTML = "<b>text</b>"),
  () => (document.createElement("script").text = "1"),
  () => trustedTypes.createPolicy("page", {}),
  () => (document.createElement("div").textContent = "<b>text</b>")
].map((attempt) => {
  try {
    attempt()
    return "allowed"
  } catch (error) {
    return error.name
  }
})`

describe.skipIf(chromiumPath === undefined)("the security policy of the office page", () => {
  it.live(
    "runs the scripts of the page, and no text as HTML or script",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const url = yield* servePage()
          const browser = yield* launchChromium
          const page = yield* Effect.promise(() => browser.newPage())
          const faults: Array<string> = []
          page.on("console", (message) => void faults.push(message.text()))
          yield* Effect.promise(() => page.goto(`${url}/office`))
          yield* Effect.promise(() => page.waitForFunction("document.title === 'Office page'"))
          assert.deepStrictEqual(faults, [])
          const outcomes = yield* Effect.promise(() => page.evaluate(attempts))
          assert.deepStrictEqual(outcomes, ["TypeError", "TypeError", "TypeError", "allowed"])
        })
      ),
    browserTimeout
  )
})
