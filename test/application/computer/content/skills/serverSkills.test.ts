import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Tar } from "effect/encoding"
import { makeMemoryMcpServer, type MemoryResource } from "../../../../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError } from "../../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../../src/domain/json.ts"
import { tarGzOf } from "../../../../adapters/skills/archives.ts"
import { resource, unreadable } from "../../../../conformance/members.ts"
import { counted, type SessionChange, type TestComputer } from "../../testComputer.ts"
import { skillText, withSkills } from "./skillFolders.ts"

const uri = "skill://host/pdf"

/** A skill in resources. */
const inResources = (description = "does pdf", name = "pdf"): ReadonlyArray<MemoryResource> => [
  resource(`skill://host/${name}`, ["T"], { _meta: { source: "resources", version: "1.0" } }),
  resource(`skill://host/${name}/SKILL.md`, [skillText(name, description)]),
  resource(`skill://host/${name}/scripts/a.py`, ["print()"])
]

/** A server whose skill has the description "before", until the test changes it. */
const changingSkill = Effect.sync(() => {
  let description = "before"
  const resources = inResources().map((one) =>
    one.definition["uri"] === `${uri}/SKILL.md`
      ? { ...one, read: Effect.sync(() => [{ uri: `${uri}/SKILL.md`, text: skillText("pdf", description) }]) }
      : one
  )
  return { resources, describeAs: (text: string) => void (description = text) }
})

/** A Computer in an office whose server `alpha` has these resources, and sessions with these changes. */
const serving = Effect.fnUntraced(function* (
  resources: ReadonlyArray<MemoryResource> = inResources(),
  {
    change,
    files = {},
    ...fixture
  }: Partial<TestComputer> & {
    readonly change?: SessionChange
    readonly files?: { readonly [path: string]: string }
  } = {}
) {
  const alpha = yield* makeMemoryMcpServer({ resources })
  const { connect, starts } = counted(alpha, change)
  return { ...(yield* withSkills(files, { servers: { alpha: { connect } }, ...fixture })), alpha, starts }
})

const archiveUri = "skill://host/pdf.tar.gz"

/** A skill in an archive. */
const inArchive = Effect.fnUntraced(function* (description: string, meta: JsonObject = {}) {
  const bytes = yield* tarGzOf([Tar.file("SKILL.md", skillText("pdf", description))])
  const archive: MemoryResource = {
    definition: { uri: archiveUri, name: "archive" },
    read: Effect.succeed([{ uri: archiveUri, blob: Buffer.from(bytes).toString("base64") }])
  }
  const skill = resource(uri, ["T"], {
    _meta: { source: "archive", archive_uri: archiveUri, archive_format: "tar.gz", ...meta }
  })
  return { resources: [skill, archive], sha256: createHash("sha256").update(bytes).digest("hex") }
})

/** Records the URIs that are read, which takes this time. */
const recordingReads =
  (reads: Array<string>, time: Duration.Input = 0): SessionChange =>
  ({ readResource }) => ({
    readResource: (read) => Effect.suspend(() => (reads.push(read), Effect.delay(readResource(read), time)))
  })

const descriptions = (skills: ReadonlyArray<JsonObject>) => skills.map(({ description }) => description)

const lazy = { alpha: { lifecycle: "lazy" } }

describe("skill of an MCP server", () => {
  it.effect("comes from resources below it", () =>
    Effect.gen(function* () {
      const { list, read } = yield* serving()
      const [skill, ...others] = yield* list
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(skill, {
        name: "mcp:alpha:pdf",
        source: "mcp:alpha",
        path: skill?.["path"],
        description: "does pdf",
        uri,
        version: "1.0"
      })
      assert.match(String(skill?.["path"]), /^\//)
      assert.strictEqual((yield* read("mcp:alpha:pdf"))["body"], "# pdf\n")
      assert.strictEqual(typeof (yield* read("mcp:alpha:pdf", "scripts/a.py"))["body"], "string")
    })
  )

  it.effect("is read by its name from a lazy server, which starts", () =>
    Effect.gen(function* () {
      const { computer, list, names, read, sent, starts } = yield* serving(inResources(), { configure: lazy })
      assert.deepStrictEqual([yield* list, starts.count], [[], 1])
      sent.length = 0
      assert.strictEqual((yield* read("mcp:alpha:pdf"))["body"], "# pdf\n")
      assert.strictEqual(starts.count, 2)
      yield* TestClock.adjust("1 hour")
      assert.strictEqual((yield* computer.servers).get("alpha")?._tag, "Idle")
      assert.deepStrictEqual([yield* names, starts.count], [["mcp:alpha:pdf"], 2])
      assert.strictEqual((yield* read("mcp:alpha:pdf"))["body"], "# pdf\n")
      assert.strictEqual(starts.count, 2)
      assert.strictEqual(sent.filter((event) => event === "server:update_skills").length, 1)
    })
  )

  it.effect("is staged again after a start of its lazy server", () =>
    Effect.gen(function* () {
      const { alpha, computer, list, read } = yield* serving(inResources("first"), { configure: lazy })
      yield* read("mcp:alpha:pdf")
      yield* TestClock.adjust("1 hour")
      yield* alpha.setResources(inResources("second"))
      assert.deepStrictEqual(descriptions(yield* list), ["first"])
      yield* computer.start("alpha")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(descriptions(yield* list), ["second"])
    })
  )

  it.effect("comes from an archive with the stated hash", () =>
    Effect.gen(function* () {
      const { sha256 } = yield* inArchive("in archive")
      const { resources } = yield* inArchive("in archive", { archive_sha256: sha256.toUpperCase() })
      const { list } = yield* serving(resources)
      assert.deepStrictEqual(descriptions(yield* list), ["in archive"])
    })
  )

  it.effect("is left out when its archive has another hash", () =>
    Effect.gen(function* () {
      const { resources } = yield* inArchive("in archive", { archive_sha256: "00" })
      const { names, problems } = yield* serving(resources)
      assert.deepStrictEqual(yield* names, [])
      assert.include(problems().join(), "the archive has another hash")
    })
  )

  const files = { "/srv/pdf/SKILL.md": skillText("pdf") }
  const mountedAt = (folder: string) =>
    resource(uri, ["T"], { _meta: { source: "mounted", mount_dir: folder, etag: folder } })

  it.effect("stays in the folder where it is mounted", () =>
    Effect.gen(function* () {
      const { list } = yield* serving([mountedAt("/srv/pdf")], { files })
      const paths = (yield* list).map(({ path }) => path)
      assert.deepStrictEqual(paths, ["/srv/pdf"])
    })
  )

  it.effect("is gone when its server mounts it in a folder that cannot be read", () =>
    Effect.gen(function* () {
      const { alpha, list, names, problems } = yield* serving([mountedAt("/srv/pdf")], { files })
      assert.strictEqual((yield* list).length, 1)
      yield* alpha.setResources([mountedAt("/none")])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, [])
      assert.isNotEmpty(problems())
    })
  )

  it.effect("is left out when a server on another machine names a folder", () =>
    Effect.gen(function* () {
      const configure = { alpha: { type: "streamable", server_parameters: { url: "http://remote.example/mcp" } } }
      const { list, problems } = yield* serving([mountedAt("/srv/pdf")], { files, configure })
      assert.deepStrictEqual(yield* list, [])
      assert.include(problems().join(), "only a local MCP server can name a folder")
    })
  )

  it.effect("is left out with a warning when it cannot be staged or lacks its description", () =>
    Effect.gen(function* () {
      const meta = { _meta: { source: "resources" } }
      const { list, problems } = yield* serving([
        resource("skill://host/empty", ["T"], meta),
        resource("skill://host/unreadable", ["T"], meta),
        unreadable("skill://host/unreadable/SKILL.md"),
        resource("skill://host/plain", ["T"], meta),
        resource("skill://host/plain/SKILL.md", ["# x"]),
        resource("skill://host/outside", ["T"], meta),
        resource("skill://host/outside/%2e%2e/x", ["x"]),
        resource("skill://host/none", ["T"], { _meta: { source: "mounted", mount_dir: "/none" } }),
        resource("skill://host/Bad", ["T"], meta),
        ...inResources("first"),
        resource("skill://other/pdf", ["T"], meta),
        resource("skill://host/note", ["T"])
      ])
      assert.deepStrictEqual(descriptions(yield* list), ["first"])
      const text = problems().join("\n")
      assert.lengthOf(problems(), 7)
      for (const reason of [
        "cannot read skill://host/unreadable/SKILL.md: cannot be read",
        "SKILL.md has no front matter",
        "is no path below the skill",
        "invalid name",
        "another resource has the same name"
      ]) {
        assert.include(text, reason)
      }
    })
  )

  it.effect("has a name with the identity of its server, in characters of a name", () =>
    Effect.gen(function* () {
      const servers = { "my.server é": yield* makeMemoryMcpServer({ resources: inResources() }) }
      assert.deepStrictEqual(yield* (yield* withSkills({}, { servers })).names, ["mcp:my_server__:pdf"])
      const bundled = yield* withSkills({}, { servers }, { protocol: "0.3" })
      assert.deepStrictEqual(yield* bundled.names, ["mcp:my_server:pdf"])
    })
  )

  it.effect("is left out when an earlier server has the same segment", () =>
    Effect.gen(function* () {
      const servers = {
        "a.b": yield* makeMemoryMcpServer({ resources: inResources("first") }),
        "a b": yield* makeMemoryMcpServer({ resources: inResources("second", "other") })
      }
      const { list, problems } = yield* withSkills({}, { servers })
      assert.deepStrictEqual(descriptions(yield* list), ["first"])
      assert.include(problems().join(), "the MCP server 'a.b' has the same segment")
    })
  )

  it.effect("is staged before an Agent asks, and announced", () =>
    Effect.gen(function* () {
      const reads: Array<string> = []
      const { list, sent } = yield* serving(inResources(), { change: recordingReads(reads, "1 second") })
      assert.deepStrictEqual(sent, [])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(sent, ["server:update_skills"])
      assert.lengthOf(yield* list, 1)
      assert.deepStrictEqual(reads, [`${uri}/SKILL.md`, `${uri}/scripts/a.py`])
    })
  )

  it.effect("disappears with its server, and returns with it", () =>
    Effect.gen(function* () {
      const { alpha, names, read, sent } = yield* serving()
      assert.deepStrictEqual(yield* names, ["mcp:alpha:pdf"])
      yield* TestClock.adjust("1 second")
      sent.length = 0
      yield* alpha.crash("gone")
      yield* TestClock.adjust(0)
      assert.include(sent, "server:update_skills")
      assert.deepStrictEqual(yield* names, [])
      const { code, message } = yield* read("mcp:alpha:pdf")
      assert.deepStrictEqual([code, message], [503, "MCP server 'alpha' is restarting, try again"])
      assert.strictEqual((yield* read("mcp:beta:pdf"))["code"], 4014)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* names, ["mcp:alpha:pdf"])
    })
  )

  it.effect("follows changes of the listing", () =>
    Effect.gen(function* () {
      const { alpha, list, sent } = yield* serving(inResources("before"))
      assert.deepStrictEqual(descriptions(yield* list), ["before"])
      yield* TestClock.adjust("1 second")
      sent.length = 0
      yield* alpha.setResources([...inResources("before"), ...inResources("added", "more")])
      yield* TestClock.adjust("1 second")
      assert.include(sent, "server:update_skills")
      assert.deepStrictEqual(descriptions(yield* list), ["before", "added"])
      yield* alpha.setResources([])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* list, [])
    })
  )

  it.effect("follows updates of its resources", () =>
    Effect.gen(function* () {
      const { describeAs, resources } = yield* changingSkill
      const { alpha, list, sent } = yield* serving(resources)
      assert.deepStrictEqual(descriptions(yield* list), ["before"])
      yield* TestClock.adjust("1 second")
      assert.includeMembers([...alpha.subscriptions()], [uri, `${uri}/SKILL.md`])
      sent.length = 0
      describeAs("after")
      yield* alpha.notify({ _tag: "ResourceUpdated", uri: `${uri}/SKILL.md` })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(sent, ["server:update_skills"])
      assert.deepStrictEqual(descriptions(yield* list), ["after"])
    })
  )

  it.effect("is staged again after an update during its staging", () =>
    Effect.gen(function* () {
      const { describeAs, resources } = yield* changingSkill
      const { alpha, list } = yield* serving(resources, {
        change: ({ readResource }) => ({
          readResource: (read) => Effect.tap(readResource(read), Effect.sleep("1 second"))
        })
      })
      yield* TestClock.adjust("5 seconds")
      const update = (text: string) => {
        describeAs(text)
        return alpha.notify({ _tag: "ResourceUpdated", uri: `${uri}/SKILL.md` })
      }
      yield* update("after")
      yield* TestClock.adjust("500 millis")
      yield* update("later")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(descriptions(yield* list), ["later"])
    })
  )

  it.effect("has updates of 256 resources of its server at most", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 300 }, (_, index) => resource(`${uri}/file${index}.md`, ["x"]))
      const { alpha, names } = yield* serving([...inResources(), ...many])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["mcp:alpha:pdf"])
      assert.strictEqual(new Set(alpha.subscriptions().filter((one) => one.startsWith("skill:"))).size, 256)
    })
  )

  it.effect("is also staged without subscriptions", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ resources: inResources(), capabilities: { subscribe: false } })
      const { logs, names } = yield* withSkills({}, { servers: { alpha } })
      assert.deepStrictEqual(yield* names, ["mcp:alpha:pdf"])
      assert.notInclude(logs.join(), "skill updates not followed")
    })
  )

  it.effect("is staged without subscriptions when these fail, with a warning", () =>
    Effect.gen(function* () {
      const failing = Effect.fail(new McpSessionError({ reason: "protocol", message: "no subscriptions today" }))
      const change: SessionChange = ({ watch }) => ({
        watch: (wanted) => (wanted.uris.length > 0 ? failing : watch(wanted))
      })
      const { logs, read } = yield* serving(inResources(), { change })
      assert.strictEqual((yield* read("mcp:alpha:pdf"))["body"], "# pdf\n")
      assert.include(logs.join(), "no subscriptions today")
    })
  )

  it.effect("is staged by the request when its server does not reply to the subscription", () =>
    Effect.gen(function* () {
      const change: SessionChange = ({ watch }) => ({
        watch: (wanted) => (wanted.uris.length > 0 ? Effect.never : watch(wanted))
      })
      const { names } = yield* serving(inResources(), { change })
      assert.deepStrictEqual(yield* names, ["mcp:alpha:pdf"])
    })
  )

  it.effect("is staged again when it was staged before the subscription", () =>
    Effect.gen(function* () {
      const { describeAs, resources } = yield* changingSkill
      const change: SessionChange = ({ watch }) => ({
        watch: (wanted) => Effect.delay(watch(wanted), wanted.uris.length > 0 ? "2 seconds" : 0)
      })
      const { list } = yield* serving(resources, { change })
      assert.deepStrictEqual(descriptions(yield* list), ["before"])
      describeAs("after")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(descriptions(yield* list), ["before"])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(descriptions(yield* list), ["after"])
    })
  )

  it.effect("is staged once for requests during the staging, which wait for it", () =>
    Effect.gen(function* () {
      const reads: Array<string> = []
      const { names, read } = yield* serving(inResources(), { change: recordingReads(reads, "1 second") })
      const listed = yield* Effect.forkChild(names, { startImmediately: true })
      const text = yield* Effect.forkChild(read("mcp:alpha:pdf"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(listed), ["mcp:alpha:pdf"])
      assert.strictEqual((yield* Fiber.join(text))["body"], "# pdf\n")
      assert.lengthOf(reads, 2)
    })
  )

  it.effect("is not listed with the files of an earlier session", () =>
    Effect.gen(function* () {
      let isHanging = false
      const { alpha, names } = yield* serving(inResources(), {
        change: ({ readResource }) => ({ readResource: (read) => (isHanging ? Effect.never : readResource(read)) }),
        settings: { readTimeout: Duration.zero }
      })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* names, ["mcp:alpha:pdf"])
      isHanging = true
      yield* alpha.crash("gone")
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* names, [])
    })
  )

  it.effect("is not read again while its etag stays the same", () =>
    Effect.gen(function* () {
      const reads: Array<string> = []
      const { resources } = yield* inArchive("one", { etag: "1" })
      const { alpha, list } = yield* serving(resources, { change: recordingReads(reads) })
      yield* list
      yield* alpha.crash("gone")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(descriptions(yield* list), ["one"])
      assert.deepStrictEqual(reads, [archiveUri])
      yield* alpha.setResources((yield* inArchive("two", { etag: "2" })).resources)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(descriptions(yield* list), ["two"])
      assert.lengthOf(reads, 2)
    })
  )

  it.effect("keeps its previous files when the new ones cannot be staged", () =>
    Effect.gen(function* () {
      const { alpha, list, problems } = yield* serving((yield* inArchive("one")).resources)
      yield* list
      yield* alpha.setResources((yield* inArchive("two", { archive_sha256: "00" })).resources)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(descriptions(yield* list), ["one"])
      assert.lengthOf(problems(), 1)
    })
  )

  it.effect("does not delay the list for longer than the read timeout", () =>
    Effect.gen(function* () {
      const slow: MemoryResource = { definition: { uri: `${uri}/SKILL.md`, name: "x" }, read: Effect.never }
      const { names } = yield* serving([resource(uri, ["T"], { _meta: { source: "resources" } }), slow], {
        files: { "/user/a/SKILL.md": skillText("a") },
        settings: { readTimeout: Duration.seconds(3) }
      })
      const fiber = yield* Effect.forkChild(names, { startImmediately: true })
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(fiber.pollUnsafe()?._tag, "Success")
    })
  )
})
