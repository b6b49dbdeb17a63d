import { readdirSync, readFileSync } from "node:fs"
import { realpath } from "node:fs/promises"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { ConnectedAgent, RunningComputer } from "../../src/main/entrypoints/promise.ts"
import { codeOf, inOffice as inPromiseOffice } from "./promise/promiseOffice.ts"

/** Runs a test in an office on line 0.4 whose Computer accepts uploads into a folder. */
const inOffice = (
  test: (office: {
    readonly agent: ConnectedAgent
    readonly computer: RunningComputer
    readonly folder: string
  }) => Promise<void>
) =>
  inPromiseOffice(async (office) => {
    const folder = await realpath(await office.folder())
    const computer = await office.computer({ protocol: "0.4", uploads: { folder } })
    await test({ agent: await office.agent({ protocol: "0.4" }), computer, folder })
  })

const content = new Uint8Array(3_000_000).map((_, index) => (index * 31) % 251)

describe("upload of the Promise API", () => {
  it("writes the file into the folder of the Computer", () =>
    inOffice(async ({ agent, folder }) => {
      const { landingPath, totalSize } = await agent.putBlob("desk", content, { nameHint: "../report.pdf" })
      assert.deepStrictEqual([landingPath, totalSize], [join(folder, "report.pdf"), content.length])
      assert.deepStrictEqual(readdirSync(folder), ["report.pdf"])
      assert.isTrue(readFileSync(landingPath).equals(content))
    }))

  it("stops when its signal is aborted, and leaves nothing after its Computer has left", () =>
    inOffice(async ({ agent, computer, folder }) => {
      const controller = new AbortController()
      const sending = codeOf(agent.putBlob("desk", new Uint8Array(50_000_000), { signal: controller.signal }))
      while (readdirSync(folder).length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      controller.abort()
      assert.strictEqual(await sending, "aborted")
      await computer.leave()
      assert.deepStrictEqual(readdirSync(folder), [])
    }))

  it("rejects with the code of the protocol when the Computer is absent", () =>
    inOffice(async ({ agent, computer }) => {
      await computer.close()
      assert.strictEqual(await codeOf(agent.putBlob("desk", content)), 404)
      assert.strictEqual(await codeOf(agent.blob("desk", "h")), 404)
      assert.strictEqual(await codeOf(agent.skills("desk")), 404)
      assert.strictEqual(await codeOf(agent.readSkill("desk", "s")), 404)
    }))
})
