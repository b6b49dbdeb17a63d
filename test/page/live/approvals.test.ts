import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { assert, it } from "@effect/vitest"
import { Duration } from "effect"
import { officeHash } from "../../../src/domain/page/route.ts"
import { guardChild } from "../../childGuard.ts"
import { bundledCommand } from "../../programs/bundleCommand.ts"
import { describePages } from "../scripted/usePages.ts"
import { waitUntil } from "../scripted/expectations.ts"
import { useLivePages } from "./useLivePages.ts"
import { configOf, LiveParts } from "./LiveParts.ts"

const everything = createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")

/** An unattended Computer, whose calls operators approve, and calls from a terminal. */
class Unattended extends LiveParts {
  url = ""

  async start(approvalTimeout: Duration.Duration = Duration.minutes(5)): Promise<this> {
    this.url = (await this.server()).service.url
    const { service } = await this.computer({
      url: this.url,
      office: "team",
      name: "desk",
      config: configOf({
        everything: { type: "stdio", server_parameters: { command: process.execPath, args: [everything, "stdio"] } }
      }),
      settings: { approvers: ["page"], approvalTimeout }
    })
    await waitUntil(async () => (await this.run(service.catalogue)).entries.has("echo"))
    return this
  }

  inbox(): string {
    return `${this.url}/office/${officeHash({ line: "0.2", office: "team" }, "inbox")}`
  }

  /** Calls the tool `echo` by the command, and collects what it prints. */
  call(message: string) {
    return this.callTool("echo", `message=${message}`)
  }

  callTool(...words: ReadonlyArray<string>) {
    const args = [bundledCommand, "agent", "--office", "team", "call", ...words, "--timeout", "5"]
    const child: ChildProcess = guardChild(
      spawn(process.execPath, args, { env: { ...process.env, A2C_SERVER: this.url, XDG_RUNTIME_DIR: "/nonexistent" } })
    )
    const printed = { stdout: "", stderr: "" }
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => (printed[name] += text))
    }
    const exitCode = new Promise<number | null>((resolve) => child.on("close", resolve))
    return {
      printed,
      exitCode,
      waits: () => waitUntil(() => printed.stderr.includes("waiting for an approval at desk"))
    }
  }
}

describePages("inbox of an unattended Computer on a telephone", () => {
  const office = new Unattended()
  const { openUrl } = useLivePages(office, () => office.start())
  const phone = { width: 390, height: 760 }

  it("runs a call from a terminal after it is allowed", async () => {
    const call = office.call("hello")
    await call.waits()
    // The page is opened after the call: the Server knows what waits.
    const { page } = await openUrl(office.inbox())
    await page.setViewportSize(phone)
    await page.getByText('"message": "hello"').first().waitFor()
    assert.match(await page.title(), /^\(1\) /)
    // Longer than the timeout of the call: waiting is no part of it.
    await new Promise((resolve) => setTimeout(resolve, 5500))
    await page.getByRole("button", { name: "Allow once: echo" }).click()
    assert.strictEqual(await call.exitCode, 0, call.printed.stderr)
    assert.include(call.printed.stdout, "Echo: hello")
    assert.include(call.printed.stderr, "a2c: allowed by operator:anonymous, at desk")
    await page.getByText("operator:anonymous").first().waitFor()
    await waitUntil(async () => !(await page.title()).startsWith("("))
  })

  it("shows the reason of a denial at the terminal", async () => {
    const { page } = await openUrl(office.inbox())
    await page.setViewportSize(phone)
    const call = office.call("secret")
    await page.getByText('"message": "secret"').first().waitFor()
    await page.getByLabel("Reason of a denial").fill("not on a Friday")
    await page.getByRole("button", { name: "Deny: echo" }).click()
    assert.strictEqual(await call.exitCode, 2)
    assert.include(call.printed.stderr, "Tool 'echo' was not confirmed: not on a Friday")
    assert.include(call.printed.stderr, "a2c: denied by operator:anonymous, at desk")
  })

  it("answers the question of a real MCP server", async () => {
    const { page } = await openUrl(office.inbox())
    await page.setViewportSize(phone)
    const call = office.callTool("trigger-elicitation-request")
    await page.getByRole("button", { name: "Allow once: trigger-elicitation-request" }).press("Enter")
    await page.getByText("Please provide inputs for the following fields:").waitFor()
    await page.getByRole("textbox", { name: /name$/ }).fill("Ada")
    await page.getByRole("radio", { name: "Wonder Woman" }).check()
    const button = page.getByRole("button", { name: "Send: trigger-elicitation-request" })
    const email = page.getByRole("textbox", { name: /email$/ })
    await email.fill("nonsense")
    await button.press("Enter")
    await page.getByText("Enter an email address such as ann@example.org").waitFor()
    await email.fill("ada@example.com")
    await button.press("Enter")
    assert.strictEqual(await call.exitCode, 0, call.printed.stderr)
    assert.include(call.printed.stdout, "User provided the requested information")
    assert.include(call.printed.stdout, "hero-3")
    assert.include(call.printed.stderr, "a2c: answered by operator:anonymous, at desk")
    await page.getByText("answered by operator:anonymous").waitFor()
  })

  it("expires without an answer, and says so", async () => {
    await using short = await new Unattended().start(Duration.seconds(2))
    const { page } = await openUrl(short.inbox())
    const call = short.call("late")
    await page.getByText('"message": "late"').first().waitFor()
    assert.strictEqual(await call.exitCode, 2)
    assert.include(call.printed.stderr, "Tool 'echo' was not confirmed in time")
  })
})
