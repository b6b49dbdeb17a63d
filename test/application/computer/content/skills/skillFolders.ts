import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemorySkillFiles } from "../../../../adapters/skills/MemorySkillFiles.ts"
import type { Link } from "../../../../../src/application/ports/Transport.ts"
import type { JsonObject } from "../../../../../src/domain/json.ts"
import type { LineName } from "../../../../../src/domain/wire/lines.ts"
import { joined, link, type TestComputer } from "../../testComputer.ts"

/** The text of a SKILL.md. */
export const skillText = (name: string, description = `does ${name}`, content = `# ${name}\n`, more = "") =>
  `---\nname: ${name}\ndescription: ${description}\n${more}---\n${content}`

/** A Computer in an office with skills in memory, and the events that it sends. */
export const withSkills = Effect.fnUntraced(function* (
  files: { readonly [path: string]: string | Uint8Array },
  fixture: Partial<TestComputer> = {},
  { maxBytes = Number.POSITIVE_INFINITY, protocol }: { readonly maxBytes?: number; readonly protocol?: LineName } = {}
) {
  const memory = yield* makeMemorySkillFiles
  for (const [path, content] of Object.entries(files)) yield* memory.write(path, content)
  const sent: Array<string> = []
  const recording: Link = {
    ...link,
    maxBytes: () => maxBytes,
    fits: (body) => body.byteLength() <= maxBytes,
    notify: (event) => Effect.sync(() => void sent.push(event))
  }
  const { request, computer, logs } = yield* joined(
    { servers: {}, skills: { userFolder: "/user" }, skillFiles: memory.layer, ...fixture },
    Effect.succeed(recording),
    protocol
  )
  yield* TestClock.adjust(0)
  const list = Effect.map(
    request("client:get_skills", {}),
    (answer) => (answer as { skills: Array<JsonObject> }).skills
  )
  const names = Effect.map(list, (skills) => skills.map(({ name }) => name))
  const read = (name: string, relPath?: string) =>
    Effect.map(
      request("client:get_skill", { name, ...(relPath !== undefined && { rel_path: relPath }) }),
      (answer) => answer as JsonObject
    )
  /** The log lines about skills that were left out. */
  const problems = () => logs.filter((line) => line.includes("skill left out"))
  return { ...memory, request, computer, logs, list, names, read, problems, sent }
})
