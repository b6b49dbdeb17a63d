import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Redacted, type Scope } from "effect"
import type { Page } from "playwright-core"
import { makeSchemeAuthenticator } from "../../../src/adapters/auth/CredentialScheme.ts"
import * as Jwt from "../../../src/adapters/auth/Jwt.ts"
import { allowAll } from "../../../src/application/ports/Authenticator.ts"
import { AdmissionRejected } from "../../../src/application/ports/Transport.ts"
import { type MemberTokenOptions, signMemberToken } from "../../../src/main/entrypoints/promise.ts"
import { openProxy } from "../../chaos/Proxy.ts"
import { buildWorld, type Conditions } from "../../conformance/World.ts"
import { withWallClock } from "../../wallClock.ts"
import { scriptedAgent } from "./functionOffice.ts"
import { bundleComputer, hasChromium, scriptInPage, type ServedFiles, useFunctionPages } from "./functionPlaces.ts"

/** Texts that are elements, scripts and attributes where a page takes them for HTML. */
const hostile = [
  '<img src="x" onerror="globalThis.pwned = 1">',
  "<script>globalThis.pwned = 2</script>",
  '"><svg onload="globalThis.pwned = 3">',
  "</textarea></output><iframe srcdoc='<script>parent.pwned = 4</script>'>"
].join("\n")
/** A name has one line. */
const [hostileName = ""] = hostile.split("\n")

/** The examples with their scripts in files: the policy allows no others. */
const examples = async () => {
  const pages = ["functions", "chat"].map((name) => {
    const html = readFileSync(`examples/${name}.html`, "utf8")
    const [whole = "", script = ""] = /<script type="module">(.*)<\/script>/s.exec(html) ?? []
    return {
      [`/${name}.html`]: html.replace(whole, `<script type="module" src="${name}.js"></script>`),
      [`/${name}.js`]: script
    }
  })
  return Object.assign({}, ...pages, {
    "/a2c-computer.js": await bundleComputer(),
    "/eval.js": "try { new Function('') } catch ({ name }) { globalThis.evalError = name }"
  }) as ServedFiles
}

const elementsOf = (page: Page) =>
  Effect.promise(() =>
    page.evaluate(() => {
      const { document, pwned } = globalThis as unknown as {
        document: { querySelectorAll(selector: string): ReadonlyArray<{ readonly tagName: string }> }
        pwned?: number
      }
      return { tags: Array.from(document.querySelectorAll("body *"), ({ tagName }) => tagName), pwned }
    })
  )

describe.skipIf(!hasChromium)("a page in a hostile office", () => {
  const { faults, origin, page: openPage } = useFunctionPages(examples)

  const serve = (conditions: Conditions = {}) =>
    Effect.flatMap(origin, (one) => buildWorld("socket.io", { allowedOrigins: [one], ...conditions }))

  /** An example, joined to an office, and the elements that it has without the office. */
  const openExample = Effect.fnUntraced(function* (server: string, name = "functions") {
    const page = yield* openPage(`/${name}.html?server=${encodeURIComponent(server)}&office=O1`)
    const output = page.locator("output")
    yield* Effect.promise(() => output.filter({ hasText: "Joined" }).waitFor({ state: "attached" }))
    return { page, output, before: yield* elementsOf(page) }
  })

  const test = (title: string, body: () => Effect.Effect<void, unknown, Scope.Scope>) =>
    it.live(title, () => Effect.scoped(Effect.suspend(body)))

  test("shows names and arguments as text", () =>
    Effect.gen(function* () {
      const world = yield* serve()
      const { before, page } = yield* openExample(world.url)
      const dialogs: Array<string> = []
      page.on("dialog", (dialog) => {
        dialogs.push(dialog.message())
        void dialog.accept()
      })
      const agent = yield* scriptedAgent(world, "0.2", "O1", hostileName)
      const params = { name: hostile.replaceAll("\n", " "), comment: hostile }
      const result = yield* agent.call("fill_in", { computer: "order-page", params })
      assert.deepStrictEqual(dialogs, [`${hostileName} fills in ${JSON.stringify(params)}`])
      assert.deepStrictEqual<unknown>(result.structuredContent, params)
      assert.deepStrictEqual(yield* elementsOf(page), before)
    }))

  test("shows messages, questions and answers as text", () =>
    Effect.gen(function* () {
      const world = yield* serve()
      const { before, page } = yield* openExample(world.url, "chat")
      const agent = yield* scriptedAgent(world, "0.2", "O1", hostileName)
      yield* agent.call("say", { computer: "chat", params: { text: hostile } })
      const ordering = yield* Effect.forkScoped(
        agent.call("order_shirt", { computer: "chat", params: { color: hostile } }),
        { startImmediately: true }
      )
      const decline = page.getByRole("button", { name: "Decline" })
      yield* Effect.promise(() => decline.waitFor())
      const texts = yield* Effect.promise(() => page.locator("li").allTextContents())
      assert.strictEqual(texts[0], `${hostileName}: ${hostile}`)
      assert.include(texts[1], `Which size of the ${hostile} shirt?`)
      yield* Effect.promise(() => decline.click())
      yield* Fiber.join(ordering)
      assert.include(yield* Effect.promise(() => page.locator("li").last().textContent()), hostile)
      const { pwned, tags } = yield* elementsOf(page)
      assert.deepStrictEqual({ pwned, tags }, { ...before, tags: before.tags.toSpliced(1, 0, "LI", "LI") })
    }))

  test("shows the reason of its Server as text", () =>
    Effect.gen(function* () {
      let admissions = 0
      const world = yield* serve({
        authenticator: {
          ...allowAll,
          authenticate: (handshake) =>
            admissions++ === 0
              ? allowAll.authenticate(handshake)
              : Effect.fail(new AdmissionRejected({ code: 401, message: hostile }))
        }
      })
      const proxy = yield* openProxy({ target: () => Number(new URL(world.url).port) })
      const { before, output, page } = yield* openExample(`http://127.0.0.1:${proxy.port}`)
      yield* proxy.cut
      yield* proxy.heal
      yield* Effect.promise(() => output.filter({ hasText: "onerror" }).waitFor({ state: "attached" }))
      assert.include(yield* Effect.promise(() => output.textContent()), hostile)
      assert.deepStrictEqual(yield* elementsOf(page), before)
    }))

  const key = "a secret of thirty-two characters or more"
  const tokenOf = (options: Partial<MemberTokenOptions> = {}) =>
    Effect.promise(() => signMemberToken({ key, office: "O1", name: "pc-1", ...options })).pipe(
      Effect.map(({ token }) => token)
    )
  const authenticator = Effect.map(Jwt.make({ source: { _tag: "Secret", secret: Redacted.make(key) } }), (scheme) =>
    makeSchemeAuthenticator([scheme])
  )
  const minutes = 60_000

  type Row = readonly [what: string, options: Partial<MemberTokenOptions>, code: number | string, message: string]
  const rows: ReadonlyArray<Row> = [
    ["office", { office: "other" }, "join_rejected", "'pc-1' may not join office 'O1'"],
    ["name", { name: "desk" }, "join_rejected", "'desk' may not use the name 'pc-1'"],
    ["role", { role: "agent" }, 403, "'pc-1' may not be a Computer"],
    ["key", { key: `${key}!` }, 401, "The token is not valid"]
  ]
  for (const [what, options, ...error] of rows) {
    test(`gets one clear error for a token of another ${what}`, () =>
      Effect.gen(function* () {
        const { url } = yield* serve({ authenticator: yield* authenticator })
        const page = yield* openPage()
        const token = yield* tokenOf(options)
        const [code, message] = error
        assert.deepStrictEqual(yield* scriptInPage(page).join({ url, protocol: "0.2", token }), { code, message })
      }))
  }

  test("gets one clear error for an expired token, before and after it has joined", () =>
    withWallClock((change) =>
      Effect.gen(function* () {
        const { url } = yield* serve({ authenticator: yield* authenticator })
        const script = scriptInPage(yield* openPage())
        const token = yield* tokenOf()
        assert.isNull(yield* script.join({ url, protocol: "0.2", token }))
        change(11 * minutes)
        assert.strictEqual((yield* script.failure())[1], "The token has expired")
        const late = scriptInPage(yield* openPage())
        const error = yield* late.join({ url, protocol: "0.2", token })
        assert.deepStrictEqual(error, { code: 401, message: "The token has expired" })
      })
    ))

  test("needs neither eval nor inline scripts", () =>
    Effect.gen(function* () {
      const world = yield* serve()
      const page = yield* openPage()
      const script = scriptInPage(page)
      const params = { type: "object", properties: { text: { type: "string", maxLength: 2 } } }
      const tools = [{ name: "echo", does: "echo", params } as const]
      assert.isNull(yield* script.join({ url: world.url, protocol: "0.2", tools }))
      const agent = yield* scriptedAgent(world, "0.2")
      assert.isTrue((yield* agent.call("echo", { params: { text: "long" } })).isError)
      assert.isFalse((yield* agent.call("echo", { params: { text: "ok" } })).isError)
      assert.deepStrictEqual(faults, [])
      // The policy holds: a library that compiles validators would fail.
      yield* Effect.promise(() => page.addScriptTag({ url: "/eval.js" }))
      const error = yield* Effect.promise(() =>
        page.evaluate(() => (globalThis as unknown as { evalError?: string }).evalError)
      )
      assert.strictEqual(error, "EvalError")
    }))
})
