import { Effect, type Scope } from "effect"
import { build } from "esbuild"
import { launchChromium } from "../programs/launchChromium.ts"
import { serveTexts } from "../programs/serveTexts.ts"
import { type FunctionsPlace, joinWithFunctions } from "./fixture/functions.ts"

const joinHere = (place: FunctionsPlace) =>
  Effect.acquireRelease(
    Effect.promise(() => joinWithFunctions(place)),
    (computer) => Effect.promise(() => computer.close())
  )

const joinInPage = Effect.fnUntraced(function* (place: FunctionsPlace) {
  const entryPoints = ["test/interop/fixture/functions.ts"]
  const bundled = yield* Effect.promise(() =>
    build({ entryPoints, bundle: true, format: "esm", platform: "browser", write: false })
  )
  const origin = yield* serveTexts({
    "/": '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page.js"></script>',
    "/page.js": bundled.outputFiles[0]?.text ?? ""
  })
  const browser = yield* launchChromium
  yield* Effect.promise(async () => {
    const page = await browser.newPage()
    await page.goto(origin, { waitUntil: "load" })
    await page.evaluate(`joinWithFunctions(${JSON.stringify(place)}).then(() => undefined)`)
  })
})

/** Joins as a Computer of functions until the scope closes. */
export const functionsJoins = { here: joinHere, page: joinInPage } satisfies {
  readonly [where: string]: (place: FunctionsPlace) => Effect.Effect<unknown, never, Scope.Scope>
}
