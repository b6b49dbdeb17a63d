import { readdirSync, readFileSync } from "node:fs"
import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import {
  A2cError,
  type ConnectedAgent,
  connectAgent,
  runComputer,
  type RunningComputer,
  runServer
} from "../../src/main/entrypoints/promise.ts"

interface Office {
  readonly agent: ConnectedAgent
  readonly computer: RunningComputer
  /** The folder of the uploads. */
  readonly folder: string
}

/** Runs a test in an office on line 0.4 whose Computer accepts uploads. */
const inOffice = (test: (office: Office) => Promise<void>) => async (): Promise<void> => {
  await using stack = new AsyncDisposableStack()
  const folder = await realpath(await mkdtemp(join(tmpdir(), "a2c-transfer-")))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const log = () => undefined
  const server = stack.use(await runServer({ authenticate: "allowAll", log }))
  const place = { url: server.url, office: "team", protocol: "0.4", log } as const
  const config = { servers: {} }
  const computer = stack.use(await runComputer({ ...place, name: "desk", config, uploads: { folder } }))
  await test({ agent: stack.use(await connectAgent({ ...place, name: "thinker" })), computer, folder })
}

const codeOf = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => (error instanceof A2cError ? error.code : error)
  )

const content = new Uint8Array(3_000_000).map((_, index) => (index * 31) % 251)

describe("upload of the Promise API", () => {
  it(
    "writes the file into the folder of the Computer",
    inOffice(async ({ agent, folder }) => {
      const { landingPath, totalSize } = await agent.putBlob("desk", content, { nameHint: "../report.pdf" })
      assert.deepStrictEqual([landingPath, totalSize], [join(folder, "report.pdf"), content.length])
      assert.deepStrictEqual(readdirSync(folder), ["report.pdf"])
      assert.isTrue(readFileSync(landingPath).equals(content))
    })
  )

  it(
    "stops when its signal is aborted, and leaves nothing after its Computer has left",
    inOffice(async ({ agent, computer, folder }) => {
      const controller = new AbortController()
      const sending = codeOf(agent.putBlob("desk", new Uint8Array(50_000_000), { signal: controller.signal }))
      while (readdirSync(folder).length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
      controller.abort()
      assert.strictEqual(await sending, "aborted")
      await computer.leave()
      assert.deepStrictEqual(readdirSync(folder), [])
    })
  )

  it(
    "rejects with the code of the protocol when the Computer is absent",
    inOffice(async ({ agent, computer }) => {
      await computer.close()
      assert.strictEqual(await codeOf(agent.putBlob("desk", content)), 404)
      assert.strictEqual(await codeOf(agent.blob("desk", "h")), 404)
      assert.strictEqual(await codeOf(agent.skills("desk")), 404)
      assert.strictEqual(await codeOf(agent.readSkill("desk", "s")), 404)
    })
  )
})
