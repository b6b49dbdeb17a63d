import { assert, it } from "@effect/vitest"
import { Effect, Layer, PubSub, type Scope, Stream } from "effect"
import type { Page } from "playwright-core"
import * as ApiKeys from "../../../src/adapters/auth/ApiKeys.ts"
import { type ApiKeyEntry, hashApiKey } from "../../../src/adapters/auth/apiKeyEntries.ts"
import { makeSchemeAuthenticator } from "../../../src/adapters/auth/CredentialScheme.ts"
import { Authenticator } from "../../../src/application/ports/Authenticator.ts"
import type { Right } from "../../../src/domain/model/Identity.ts"
import { describePages } from "../scripted/usePages.ts"
import { tabTo } from "../scripted/expectations.ts"
import { useLivePages } from "./useLivePages.ts"
import { configOf, LiveParts } from "./LiveParts.ts"

const entryOf = (subject: string, rights: ReadonlyArray<Right>): ApiKeyEntry => ({
  subject,
  hash: hashApiKey(`key-of-${subject}`),
  grants: { rights, offices: ["*"], names: ["*"] },
  expiresAt: undefined
})

const olga = entryOf("olga", ["operator", "agent"])
const wanda = entryOf("wanda", ["operator"])
const alan = entryOf("alan", ["agent", "computer"])

/** Keys that the test replaces. */
const makeKeys: Effect.Effect<
  {
    readonly authenticator: Layer.Layer<Authenticator>
    readonly replace: (keys: ReadonlyArray<ApiKeyEntry>) => Effect.Effect<unknown>
  },
  never,
  Scope.Scope
> = Effect.gen(function* () {
  const updates = yield* PubSub.unbounded<ReadonlyArray<ApiKeyEntry>>()
  const scheme = yield* ApiKeys.make([olga, wanda, alan], Stream.fromPubSub(updates))
  return {
    authenticator: Layer.succeed(Authenticator, makeSchemeAuthenticator([scheme])),
    replace: (keys) => PubSub.publish(updates, keys)
  }
})

const signIn = async (page: Page, key: string): Promise<void> => {
  await page.getByLabel("Key or token").fill(key)
  await page.getByRole("button", { name: "Sign in" }).click()
}

describePages("office page of a Server with API keys", () => {
  const parts = new LiveParts()
  let url = ""
  let replace: (keys: ReadonlyArray<ApiKeyEntry>) => Promise<unknown> = () => Promise.reject(new Error("not started"))
  const { openUrl } = useLivePages(parts, async () => {
    const keys = await parts.run(makeKeys)
    replace = (entries) => parts.run(keys.replace(entries))
    const { service } = await parts.server({ authenticator: keys.authenticator })
    url = service.url
    const token = "key-of-alan"
    await parts.computer({ url, token, office: "team", name: "desk", config: configOf({}) })
  })
  const open = () => openUrl(`${url}/office/`, "form")

  it("shows the offices to a key with the right operator, until the sign-out", async () => {
    const { page } = await open()
    await signIn(page, "key-of-olga")
    await page.getByText("no Agent, 1 Computer", { exact: true }).waitFor()
    await page.getByText("olga", { exact: true }).waitFor()
    await page.reload()
    await page.getByText("no Agent, 1 Computer", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("Key or token").waitFor()
    await page.reload()
    await page.getByLabel("Key or token").waitFor()
  })

  it("signs in and out without a mouse", async () => {
    const { page } = await open()
    await tabTo(page, "Key or token")
    await page.keyboard.type("key-of-olga")
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: "team" }).waitFor()
    await tabTo(page, "Sign out")
    await page.keyboard.press("Enter")
    await page.getByLabel("Key or token").waitFor()
  })

  for (const [title, key, reason] of [
    ["without the right operator", "key-of-alan", "this page requires the right 'operator'"],
    ["that the Server does not know", "key-of-nemo", "The Server rejected the key."]
  ] as const) {
    it(`rejects a key ${title}`, async () => {
      const { page } = await open()
      await signIn(page, key)
      await page.getByRole("alert").getByText(reason).waitFor()
      assert.strictEqual(await page.getByText("1 Computer").count(), 0)
    })
  }

  it("permits no calls with a key without the right agent", async () => {
    const { page } = await open()
    await signIn(page, "key-of-wanda")
    await page.getByText("no Agent, 1 Computer", { exact: true }).waitFor()
    await page.evaluate(`location.hash = "#/office/0.2/team/tools"`)
    await page.getByText("The credentials of this page do not permit calls.").waitFor()
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByLabel("Key or token").waitFor()
  })

  it("asks for another key when its key is revoked", async () => {
    const { page } = await open()
    await signIn(page, "key-of-olga")
    await page.getByText("no Agent, 1 Computer", { exact: true }).waitFor()
    await replace([wanda, alan])
    await page.getByLabel("Key or token").waitFor()
    await signIn(page, "key-of-olga")
    await page.getByRole("alert").getByText("The Server rejected the key.").waitFor()
    await replace([olga, wanda, alan])
  })
})
