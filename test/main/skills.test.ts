import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Result, Schedule } from "effect"
import { Tar } from "effect/encoding"
import * as McpClient from "../../src/adapters/mcp/client/McpClient.ts"
import * as FileSkills from "../../src/application/computer/content/skills/FileSkills.ts"
import * as NodeSkillFiles from "../../src/adapters/skills/NodeSkillFiles.ts"
import { Computer } from "../../src/application/computer/Computer.ts"
import type { SkillFolders } from "../../src/application/computer/content/Skills.ts"
import { Inputs } from "../../src/application/computer/inputs/Inputs.ts"
import { jsonBody } from "../../src/application/ports/Body.ts"
import { type MessageHandler, TransportClient } from "../../src/application/ports/Transport.ts"
import { parseComputerConfig } from "../../src/domain/config/parseConfig.ts"
import type { JsonObject } from "../../src/domain/json.ts"
import { tarGzOf } from "../adapters/skills/archives.ts"
import { temporaryFolder } from "../temporaryFolder.ts"
import { skillText } from "../application/computer/content/skills/skillFolders.ts"
import { link } from "../application/computer/testComputer.ts"
import { portDefaults } from "../portDefaults.ts"

const fixture = fileURLToPath(new URL("../fixtures/skillServer.ts", import.meta.url))

/** A Computer on real files and real processes, and the events that it sends to its office. */
const computerWith = Effect.fnUntraced(function* (skills: SkillFolders, servers: object, stagingParent: string) {
  let handle: MessageHandler = () => Effect.succeed([])
  const sent: Array<string> = []
  const transport = Layer.succeed(TransportClient, {
    connect: ({ onMessage }) => {
      handle = onMessage
      return Effect.succeed({ ...link, notify: (event: string) => Effect.sync(() => void sent.push(event)) })
    }
  })
  const context = yield* Computer.layer({
    name: "pc",
    office: "o",
    config: Result.getOrThrow(parseComputerConfig({ servers })),
    skills
  }).pipe(
    Layer.provide(Layer.provide(FileSkills.layer, NodeSkillFiles.layer({ stagingParent }))),
    Layer.provide(Layer.mergeAll(transport, Inputs.layer(), portDefaults)),
    Layer.provide(Layer.provide(McpClient.layer, NodeServices.layer)),
    Layer.build
  )
  const request = (event: string, request: object) =>
    Effect.map(
      handle(event, jsonBody({ agent: "a", req_id: "r", computer: "pc", ...request })),
      ([reply]) => Result.getOrThrow(reply?.value() ?? Result.succeed({})) as JsonObject
    )
  const list = Effect.map(request("client:get_skills", {}), ({ skills: listed }) => listed as ReadonlyArray<JsonObject>)
  const read = (name: string, path: string) => request("client:get_skill", { name, rel_path: path })
  return { computer: Context.get(context, Computer), list, read, sent }
})

const write = (path: string, content: string | Uint8Array) => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** Waits for a change that the system reports later. */
const eventually = (check: Effect.Effect<boolean>) =>
  check.pipe(
    Effect.flatMap((holds) => (holds ? Effect.void : Effect.fail("not yet"))),
    Effect.retry(Schedule.spaced("50 millis")),
    Effect.timeout("30 seconds")
  )

describe("list of skills on this host", () => {
  it.live("has the skills of folders, and changes with them", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      write(join(folder, "user/pdf/SKILL.md"), skillText("pdf", "Reads PDF.", "# PDF\r\n"))
      write(join(folder, "user/pdf/.skillenv"), "SECRET=1")
      write(join(folder, "secret.md"), "secret")
      symlinkSync(join(folder, "secret.md"), join(folder, "user/pdf/link.md"))
      const { list, read, sent } = yield* computerWith({ userFolder: join(folder, "user") }, {}, folder)
      assert.deepStrictEqual(
        (yield* list).map(({ name, path }) => [name, path]),
        [["pdf", join(folder, "user/pdf")]]
      )
      assert.strictEqual((yield* read("pdf", "SKILL.md"))["body"], "# PDF\r\n")
      const reasons = yield* Effect.forEach([".skillenv", "link.md", "../../secret.md", "none"], (path) =>
        Effect.map(read("pdf", path), ({ details }) => (details as JsonObject)["reason"])
      )
      assert.deepStrictEqual(reasons, ["forbidden", "traversal", "traversal", "not_found"])
      sent.length = 0
      write(join(folder, "user/docx/SKILL.md"), skillText("docx"))
      yield* eventually(Effect.sync(() => sent.includes("server:update_skills")))
      sent.length = 0
      rmSync(join(folder, "user/pdf"), { recursive: true })
      yield* eventually(Effect.sync(() => sent.includes("server:update_skills")))
      const names = (yield* list).map(({ name }) => name)
      assert.deepStrictEqual(names, ["docx"])
    })
  )

  it.live("has the skills of an MCP server in a process", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const archive = join(folder, "packed.tar.gz")
      write(archive, yield* tarGzOf([Tar.file("packed/SKILL.md", skillText("packed")), Tar.file("packed/a.py", "1")]))
      write(join(folder, "mounted/SKILL.md"), skillText("mounted"))
      const alpha = {
        type: "stdio",
        server_parameters: { command: process.execPath, args: [fixture, archive, join(folder, "mounted")] }
      }
      const { computer, list, read, sent } = yield* computerWith({}, { alpha }, folder)
      yield* eventually(Effect.map(list, (skills) => skills.length === 3))
      assert.deepStrictEqual(
        (yield* list).map(({ description, name, uri, version }) => [name, description, uri, version]),
        [
          ["mcp:alpha:report", "Writes reports.", "skill://demo/report", "3"],
          ["mcp:alpha:packed", "does packed", "skill://demo/packed", undefined],
          ["mcp:alpha:mounted", "does mounted", "skill://demo/mounted", undefined]
        ]
      )
      assert.include(sent, "server:update_skills")
      assert.strictEqual((yield* read("mcp:alpha:report", "SKILL.md"))["body"], "# Report\n")
      const logo = yield* read("mcp:alpha:report", "assets/logo.png")
      assert.deepStrictEqual(
        [logo["mime_type"], logo["total_size"], typeof logo["blob_handle"]],
        ["image/png", 4, "string"]
      )
      assert.strictEqual((yield* read("mcp:alpha:packed", "a.py"))["body"], "1")
      yield* computer.stop("alpha")
      assert.deepStrictEqual(yield* list, [])
    })
  )

  it.live("leaves out a folder that cannot be read", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      write(join(folder, "user/b/SKILL.md"), skillText("b"))
      mkdirSync(join(folder, "user/a"))
      symlinkSync("SKILL.md", join(folder, "user/a/SKILL.md"))
      write(join(folder, "file"), "")
      const { list } = yield* computerWith(
        { userFolder: join(folder, "user"), marketplaces: [join(folder, "file")] },
        {},
        folder
      )
      const names = (yield* list).map(({ name }) => name)
      assert.deepStrictEqual(names, ["b"])
    })
  )
})
