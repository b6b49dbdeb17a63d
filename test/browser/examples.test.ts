import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import type { Page } from "playwright-core"
import { type ConnectedAgent, connectAgent, runServer } from "../../src/main/entrypoints/promise.ts"
import { browserTimeout, chromiumPath, launchChromium } from "../programs/launchChromium.ts"
import { serveTexts } from "../programs/serveTexts.ts"
import { textOf } from "../textOf.ts"

/** Bundles the entry by the command of docs/functions.md. */
const bundleByDocs = (): string => {
  const [, command = ""] = /npx (esbuild .*)/.exec(readFileSync("docs/functions.md", "utf8")) ?? []
  const folder = mkdtempSync(join(tmpdir(), "a2c-examples-"))
  try {
    const [program = "", ...args] = command
      .replace("node_modules/a2c-smcp/dist/main/entrypoints/computer.js", "src/main/entrypoints/computer.ts")
      .replace("--outfile=", `--outfile=${folder}/`)
      .split(" ")
    execFileSync(join("node_modules/.bin", program), [...args, "--log-level=error"], {
      shell: process.platform === "win32"
    })
    return readFileSync(join(folder, "a2c-computer.js"), "utf8")
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const examples = readdirSync("examples").filter((name) => name.endsWith(".html"))

describe.skipIf(chromiumPath === undefined)("the examples of pages", { timeout: browserTimeout }, () => {
  const scope = Scope.makeUnsafe()
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)), browserTimeout)

  const launch = async () => {
    const pages = examples.map((name) => [`/${name}`, readFileSync(join("examples", name), "utf8")] as const)
    const texts = { ...Object.fromEntries(pages), "/a2c-computer.js": bundleByDocs() }
    const all = Effect.all({ origin: serveTexts(texts), browser: launchChromium })
    return Effect.runPromise(Scope.provide(all, scope))
  }
  let launched: ReturnType<typeof launch> | undefined

  /** Opens an example in an office with an Agent, until its Computer has tools. */
  const open = async (example: string, computer: string) => {
    const { browser, origin } = await (launched ??= launch())
    const closing = new AsyncDisposableStack()
    const server = closing.use(
      await runServer({ authenticate: "allowAll", allowedOrigins: [origin], log: () => undefined })
    )
    const agent = closing.use(await connectAgent({ url: server.url, office: "team", name: "writer" }))
    const page = closing.adopt(await browser.newPage(), (one) => one.close())
    const errors: Array<string> = []
    page.on("pageerror", ({ message }) => errors.push(message))
    await page.goto(`${origin}/${example}?server=${server.url}`, { waitUntil: "load" })
    for await (const view of agent.changesOf(computer)) if ((view?.tools?.length ?? 0) > 0) break
    const used: { readonly agent: ConnectedAgent; readonly page: Page; readonly errors: ReadonlyArray<string> } = {
      agent,
      page,
      errors
    }
    return { ...used, [Symbol.asyncDispose]: () => closing.disposeAsync() }
  }

  /** Waits for a window of a Computer with this text. */
  const awaitWindow = async (agent: ConnectedAgent, computer: string, text: string): Promise<void> => {
    for await (const view of agent.changesOf(computer)) if (view?.desktop?.some((one) => one.includes(text))) return
  }

  it("fills in the form when the user agrees, and shows the selection", async () => {
    await using office = await open("functions.html", "order-page")
    const { agent, errors, page } = office
    const dialogs: Array<string> = []
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message())
      void dialog.accept()
    })
    const filled = await agent.callTool({ tool: "fill_in", params: { name: "Ada", comment: "<b>soon</b>" } })
    assert.deepStrictEqual(filled.structuredContent, { name: "Ada", comment: "<b>soon</b>" })
    assert.deepStrictEqual(dialogs, ['writer fills in {"name":"Ada","comment":"<b>soon</b>"}'])
    assert.strictEqual(await page.inputValue("[name=name]"), "Ada")
    await page.evaluate('getSelection().selectAllChildren(document.querySelector("p"))')
    await awaitWindow(agent, "order-page", "Select a part of this text")
    assert.strictEqual(await page.textContent("output"), "Joined")
    assert.deepStrictEqual(errors, [])
  })

  it("replaces a paragraph only when the user agrees, and shows the letter", async () => {
    await using office = await open("addIn.html", "letter")
    const { agent, errors, page } = office
    const read = await agent.callTool({ tool: "read_paragraphs" })
    assert.deepStrictEqual(read.structuredContent, { result: ["Dear Ada,", "the engine is ready.", "Charles"] })
    const decide = async (button: string) => {
      const replaced = agent.callTool({ tool: "replace_paragraph", params: { number: 2, text: "<i>It</i> runs." } })
      await page.click(`text=${button}`)
      return (await replaced).isError
    }
    assert.isTrue(await decide("Keep"))
    assert.strictEqual(await page.textContent("p:nth-child(2)"), "the engine is ready.")
    assert.isFalse(await decide("Replace"))
    assert.strictEqual(await page.textContent("p:nth-child(2)"), "<i>It</i> runs.")
    await awaitWindow(agent, "letter", "<i>It</i> runs.")
    const far = agent.callTool({ tool: "replace_paragraph", params: { number: 4, text: "" } })
    await page.click("text=Replace")
    assert.include(textOf(await far), "The letter has 3 paragraphs")
    assert.deepStrictEqual(errors, [])
  })

  it("stores the letter where an Agent fetches it", async () => {
    await using office = await open("addIn.html", "letter")
    const { agent } = office
    const { documents } = await agent.findDocuments("letter")
    assert.deepStrictEqual(
      documents.map(({ title }) => title),
      ["Letter"]
    )
    const { mimeType, uri } = await agent.getDpe("letter", documents[0]?.uri ?? "")
    assert.strictEqual(mimeType, "text/plain")
    assert.strictEqual(await (await fetch(uri)).text(), "Dear Ada,\n\nthe engine is ready.\n\nCharles")
  })

  it("answers the question of a tool with a form in the chat", async () => {
    await using office = await open("chat.html", "chat")
    const { agent, errors, page } = office
    const ordered = agent.callTool({ tool: "order_shirt", params: { color: "<img src=x> red" } })
    await page.selectOption("[name=size]", "L")
    await page.fill("[name=pieces]", "2")
    assert.include(await page.textContent("li"), "Which size of the <img src=x> red shirt?")
    await page.click("text=Answer")
    assert.deepStrictEqual((await ordered).structuredContent, {
      ordered: { color: "<img src=x> red", size: "L", pieces: 2, gift: false }
    })
    assert.strictEqual(await page.locator("img").count(), 0)
    assert.deepStrictEqual(errors, [])
  })

  it("tells the Agent that the user declines, and removes the form of a cancelled call", async () => {
    await using office = await open("chat.html", "chat")
    const { agent, page } = office
    const ordered = agent.callTool({ tool: "order_shirt", params: { color: "red" } })
    await page.click("text=Decline")
    assert.strictEqual(textOf(await ordered), "The user orders nothing.")
    const controller = new AbortController()
    const cancelled = agent.callTool({ tool: "order_shirt", params: { color: "blue" } }, { signal: controller.signal })
    await page.waitForSelector("[name=size]")
    controller.abort()
    await cancelled.catch(() => undefined)
    await page.waitForSelector("text=blue shirt? cancel")
    assert.strictEqual(await page.locator("[name=size]").count(), 0)
  })

  it("gives the messages of the chat to the Agent, and shows those of the Agent", async () => {
    await using office = await open("chat.html", "chat")
    const { agent, page } = office
    await page.fill("[name=text]", "a red shirt, please")
    await page.click("text=Send")
    await awaitWindow(agent, "chat", "user: a red shirt, please")
    await agent.callTool({ tool: "say", params: { text: "<b>Yes</b>" } })
    assert.strictEqual(await page.textContent("li:last-child"), "writer: <b>Yes</b>")
  })
})
