import { createHash } from "node:crypto"
import { assert, describe } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { asObject } from "../../../src/domain/json.ts"
import { computerIn } from "../../conformance/joinedMembers.ts"
import { agentUnderTest } from "../../conformance/members.ts"
import { conform, type World } from "../../conformance/World.ts"

const sha256Of = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const required = { name: "notes", source: "user", path: "/skills/notes", description: "Takes notes" }
const optional = { license: "MIT", allowed_tools: ["echo"], skill_metadata: { x: 1 }, version: "1", tags: ["t"] }
const ref = { ...required, license: "MIT", allowedTools: ["echo"], metadata: { x: 1 }, version: "1", tags: ["t"] }

const text = "# Notes"
const binary = new Uint8Array(50).map((_, index) => 255 - index)

/** An office with an Agent and a Computer of a published package, which has one skill. */
const skillOffice = Effect.fnUntraced(function* (world: World) {
  const computer = yield* computerIn(world, "O1")
  const requests: Array<unknown> = []
  yield* computer.answers((event, body) =>
    Effect.sync(() => {
      const { agent: _, computer: __, req_id, ...request } = asObject(body)
      requests.push({ event, ...request })
      switch (event) {
        case "client:get_skills":
          return [{ skills: [{ ...required, ...optional }], req_id }]
        case "client:get_skill": {
          const relPath = request["rel_path"] ?? "SKILL.md"
          const bytes = relPath === "SKILL.md" ? Buffer.from(text) : binary
          const file = { name: "notes", rel_path: relPath, total_size: bytes.length, sha256: sha256Of(bytes) }
          return relPath === "SKILL.md"
            ? [{ ...file, mime_type: "text/markdown", body: text, req_id }]
            : [{ ...file, mime_type: "application/pdf", blob_handle: "h", req_id }]
        }
        case "client:get_blob": {
          const offset = Number(request["chunk_offset"])
          const chunk = binary.subarray(offset, offset + 20)
          const reply = {
            blob_handle: "h",
            mime_type: "application/octet-stream",
            total_size: binary.length,
            sha256: sha256Of(binary),
            chunk_offset: offset,
            eof: offset + chunk.length === binary.length,
            blob: Buffer.from(chunk).toString("base64"),
            req_id
          }
          return [reply]
        }
        default:
          return [{ code: 404, message: "unknown" }]
      }
    })
  )
  return { agent: yield* agentUnderTest(world), computer, requests }
})

describe("skill of a Computer", () => {
  conform("is listed with all that the Computer states", (world) =>
    Effect.gen(function* () {
      const { agent } = yield* skillOffice(world)
      assert.deepStrictEqual(yield* agent.skills("pc-1"), [ref])
    })
  )

  conform("appears in the view after a notification", (world) =>
    Effect.gen(function* () {
      const { agent, computer } = yield* skillOffice(world)
      yield* agent.settled
      assert.isUndefined((yield* agent.view).computers.get("pc-1")?.skills)
      yield* computer.notify("server:update_skills", { computer: "pc-1" })
      const [seen] = yield* agent.changesOf("pc-1").pipe(
        Stream.filter((view) => view?.skills !== undefined),
        Stream.take(1),
        Stream.runCollect
      )
      assert.deepStrictEqual(seen?.skills, [ref])
    })
  )

  conform("is read as text, or as the bytes of a blob", (world) =>
    Effect.gen(function* () {
      const { agent, requests } = yield* skillOffice(world)
      yield* agent.settled
      requests.length = 0
      const main = yield* agent.readSkill("pc-1", "notes")
      assert.deepInclude(main, { relPath: "SKILL.md", mimeType: "text/markdown", text, sha256: sha256Of(main.bytes) })
      const file = yield* agent.readSkill("pc-1", "notes", "a.pdf")
      assert.deepInclude(file, { relPath: "a.pdf", mimeType: "application/pdf", text: undefined, totalSize: 50 })
      assert.deepStrictEqual(new Uint8Array(file.bytes), binary)
      const handle = { event: "client:get_blob", blob_handle: "h", max_chunk_bytes: 256 * 1024 }
      assert.deepStrictEqual(requests, [
        { event: "client:get_skill", name: "notes" },
        { event: "client:get_skill", name: "notes", rel_path: "a.pdf" },
        { ...handle, chunk_offset: 0 },
        { ...handle, chunk_offset: 20 },
        { ...handle, chunk_offset: 40 }
      ])
    })
  )
})
