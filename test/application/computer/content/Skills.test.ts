import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { formatBlobHandle, parseBlobHandle } from "../../../../src/domain/blobs/blobHandle.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { resource } from "../../../conformance/members.ts"
import { joined } from "../testComputer.ts"
import { skillText, withSkills } from "./skills/skillFolders.ts"

const hashOf = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex")

const marketplace = (plugins: ReadonlyArray<object>, more: object = { name: "tools" }) =>
  JSON.stringify({ ...more, plugins })

describe("list of skills", () => {
  it.effect("has the skills of the user with their front matter", () =>
    Effect.gen(function* () {
      const more =
        "license: MIT\ncompatibility: x\nallowed-tools: Read Grep\ntags: [office]\nmetadata: {author: me}\nother: 1\n"
      const { list } = yield* withSkills({
        "/user/b/SKILL.md": skillText("pdf", "Reads PDF.", "", more),
        "/user/a/SKILL.md": skillText("plain")
      })
      assert.deepStrictEqual(yield* list, [
        { name: "plain", source: "user", path: "/user/a", description: "does plain" },
        {
          name: "pdf",
          source: "user",
          path: "/user/b",
          description: "Reads PDF.",
          license: "MIT",
          compatibility: "x",
          allowed_tools: ["Read", "Grep"],
          skill_metadata: { author: "me" },
          tags: ["office"]
        }
      ])
    })
  )

  it.effect("follows links in the folder of the user", () =>
    Effect.gen(function* () {
      const { link: makeLink, list } = yield* withSkills({ "/elsewhere/pdf/SKILL.md": skillText("pdf") })
      yield* makeLink("/user/pdf", "/elsewhere/pdf")
      const paths = (yield* list).map(({ name, path }) => [name, path])
      assert.deepStrictEqual(paths, [["pdf", "/elsewhere/pdf"]])
    })
  )

  it.effect("leaves out unusable skills, with one warning for each", () =>
    Effect.gen(function* () {
      const { list, names, problems } = yield* withSkills({
        "/user/good/SKILL.md": skillText("good"),
        "/user/no-skill/README.md": "x",
        "/user/no-front-matter/SKILL.md": "# x",
        "/user/no-description/SKILL.md": "---\nname: a\n---\n",
        "/user/bad-name/SKILL.md": skillText("Bad"),
        "/user/bad-yaml/SKILL.md": "---\na: [\n---\n"
      })
      assert.deepStrictEqual(yield* names, ["good"])
      yield* list
      const text = problems().join("\n")
      assert.lengthOf(problems(), 4)
      assert.include(text, "SKILL.md has no front matter")
      assert.include(text, "the front matter has no description")
      assert.include(text, "invalid name: expected a-z")
      assert.include(text, "invalid front matter: ")
      assert.notInclude(text, "no-skill")
    })
  )

  it.effect("warns of the same problem again when it reappears", () =>
    Effect.gen(function* () {
      const { names, problems, write } = yield* withSkills({ "/user/a/SKILL.md": "# x" })
      yield* names
      yield* write("/user/a/SKILL.md", skillText("a"))
      assert.deepStrictEqual(yield* names, ["a"])
      yield* write("/user/a/SKILL.md", "# x")
      assert.deepStrictEqual(yield* names, [])
      assert.lengthOf(problems(), 2)
    })
  )

  it.effect("has the skills of marketplaces, with the versions of their plugins", () =>
    Effect.gen(function* () {
      const { list, problems } = yield* withSkills(
        {
          "/market/.claude-plugin/marketplace.json": marketplace([
            { name: "docs", source: "./plugins/docs", version: "1.0.0" },
            { name: "office", source: "./", version: "2.0.0", skills: ["./extra/xlsx"] },
            { name: "away", source: { source: "github", repo: "x/y" } }
          ]),
          "/market/plugins/docs/.claude-plugin/plugin.json": JSON.stringify({ name: "docs", version: "1.1.0" }),
          "/market/plugins/docs/skills/pdf/SKILL.md": skillText("pdf"),
          "/market/extra/xlsx/SKILL.md": skillText("xlsx"),
          "/market/extra/other/SKILL.md": skillText("other")
        },
        { skills: { marketplaces: ["/market"] } }
      )
      assert.deepStrictEqual(yield* list, [
        {
          name: "docs:pdf",
          source: "marketplace:tools",
          path: "/market/plugins/docs/skills/pdf",
          description: "does pdf",
          version: "1.1.0"
        },
        {
          name: "office:xlsx",
          source: "marketplace:tools",
          path: "/market/extra/xlsx",
          description: "does xlsx",
          version: "2.0.0"
        }
      ])
      assert.lengthOf(problems(), 1)
      assert.include(problems().join(), "its source is not a folder of the marketplace")
    })
  )

  it.effect("names a marketplace without a name by its folder, and warns of one without a list", () =>
    Effect.gen(function* () {
      const { list, problems } = yield* withSkills(
        {
          "/m/one/.claude-plugin/marketplace.json": marketplace([{ name: "a", source: "a" }], {}),
          "/m/one/a/skills/x/SKILL.md": skillText("x"),
          "/m/two/README.md": "x",
          "/m/three/.claude-plugin/marketplace.json": "{"
        },
        { skills: { marketplaces: ["/m/one/", "/m/two", "/m/three", "/m/four"] } }
      )
      const sources = (yield* list).map(({ source }) => source)
      assert.deepStrictEqual(sources, ["marketplace:one"])
      const text = problems().join("\n")
      assert.include(text, "marketplace.json is missing")
      assert.include(text, "marketplace.json is not JSON")
      assert.include(text, `"source":"marketplace:four"`)
    })
  )

  it.effect("leaves out skills of a plugin that links lead to", () =>
    Effect.gen(function* () {
      const {
        link: makeLink,
        names,
        problems
      } = yield* withSkills(
        {
          "/market/.claude-plugin/marketplace.json": marketplace([{ name: "a", source: "a" }]),
          "/market/a/skills/x/SKILL.md": skillText("x"),
          "/user/private/SKILL.md": skillText("private")
        },
        { skills: { marketplaces: ["/market"] } }
      )
      yield* makeLink("/market/a/skills/y", "/user/private")
      assert.deepStrictEqual(yield* names, ["a:x"])
      assert.include(problems().join(), "out of its root")
    })
  )

  it.effect("gives an equal name to the first source: the user, then marketplaces in their order, then servers", () =>
    Effect.gen(function* () {
      const folders = (market: string) => ({
        [`/${market}/.claude-plugin/marketplace.json`]: marketplace([{ name: "p", source: "p" }], { name: market }),
        [`/${market}/p/skills/x/SKILL.md`]: skillText("x", market)
      })
      const alpha = yield* makeMemoryMcpServer({
        resources: [
          resource("skill://h/x", ["T"], { _meta: { source: "resources" } }),
          resource("skill://h/x/SKILL.md", [skillText("x", "server")])
        ]
      })
      const { list, problems } = yield* withSkills(
        {
          "/user/1/SKILL.md": skillText("x", "first"),
          "/user/2/SKILL.md": skillText("x", "second"),
          ...folders("m1"),
          ...folders("m2")
        },
        { servers: { alpha }, skills: { userFolder: "/user", marketplaces: ["/m1", "/m2"] } }
      )
      assert.deepStrictEqual(
        (yield* list).map(({ description, name }) => [name, description]),
        [
          ["x", "first"],
          ["p:x", "m1"],
          ["mcp:alpha:x", "server"]
        ]
      )
      assert.lengthOf(problems(), 2)
      assert.include(problems().join(), "marketplace:m1 has a skill with the same name")
    })
  )

  it.effect("is announced after changes of folders, but not without a change", () =>
    Effect.gen(function* () {
      const { names, remove, sent, write } = yield* withSkills({ "/user/a/SKILL.md": skillText("a") })
      yield* names
      yield* TestClock.adjust("1 second")
      sent.length = 0
      yield* write("/user/b/SKILL.md", skillText("b"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(sent, ["server:update_skills"])
      yield* write("/user/b/SKILL.md", skillText("b"))
      yield* write("/other/SKILL.md", skillText("c"))
      yield* TestClock.adjust("1 second")
      assert.lengthOf(sent, 1)
      yield* remove("/user/a")
      yield* TestClock.adjust("1 second")
      assert.lengthOf(sent, 2)
      assert.deepStrictEqual(yield* names, ["b"])
    })
  )

  it.effect("omits the skills of the largest source when the reply is too large", () =>
    Effect.gen(function* () {
      const long = "d".repeat(4000)
      const { logs, names } = yield* withSkills(
        {
          "/user/long/SKILL.md": skillText("long", long),
          "/m/.claude-plugin/marketplace.json": marketplace([{ name: "a", source: "a" }]),
          "/m/a/skills/x/SKILL.md": skillText("x")
        },
        { skills: { userFolder: "/user", marketplaces: ["/m"] } },
        { maxBytes: 2000 }
      )
      assert.deepStrictEqual(yield* names, ["a:x"])
      assert.include(logs.join(), `"omitted":["user"]`)
    })
  )

  it.effect("is empty on a host without a port for files, with a warning about folders", () =>
    Effect.gen(function* () {
      const { request, logs } = yield* joined({ servers: {}, skills: { userFolder: "/user" } })
      assert.deepStrictEqual(yield* request("client:get_skills", {}), { skills: [], req_id: "r" })
      assert.deepStrictEqual(yield* request("client:get_skill", { name: "a" }), {
        code: 4014,
        message: "Skill not found",
        details: { name: "a" }
      })
      assert.strictEqual(((yield* request("client:get_skill", { name: "A" })) as { code: number }).code, 4016)
      assert.include(logs.join(), "skill folders ignored")
    })
  )
})

/** A Computer whose user has the skill `pdf` with these files, listed already. */
const withPdf = (files: { readonly [path: string]: string | Uint8Array }) =>
  Effect.tap(withSkills({ "/user/a/SKILL.md": skillText("pdf"), ...files }), ({ names }) => names)

describe("file of a skill", () => {
  it.effect("is SKILL.md without its front matter by default", () =>
    Effect.gen(function* () {
      const content = "\n# pdf ${TFROBOT_SKILL_DIR}\r\n---\n"
      const { names, read } = yield* withSkills({ "/user/a/SKILL.md": skillText("pdf", "d", content) })
      yield* names
      const expected = {
        name: "pdf",
        rel_path: "SKILL.md",
        mime_type: "text/markdown",
        total_size: content.length,
        sha256: hashOf(content),
        body: content,
        req_id: "r"
      }
      assert.deepStrictEqual(yield* read("pdf"), expected)
      assert.deepStrictEqual(yield* read("pdf", "./SKILL.md"), expected)
    })
  )

  it.effect("is sent as it is under other paths", () =>
    Effect.gen(function* () {
      const text = skillText("other")
      const { read } = yield* withPdf({
        "/user/a/references/SKILL.md": text
      })
      const reply = yield* read("pdf", "references//SKILL.md")
      assert.deepStrictEqual(
        [reply["rel_path"], reply["body"], reply["sha256"]],
        ["references/SKILL.md", text, hashOf(text)]
      )
    })
  )

  it.effect("is an empty text when it is empty", () =>
    Effect.gen(function* () {
      const { names, read } = yield* withSkills({ "/user/a/SKILL.md": skillText("pdf", "d", "") })
      yield* names
      const { blob_handle, body, sha256, total_size } = yield* read("pdf")
      assert.deepStrictEqual([body, total_size, sha256, blob_handle], ["", 0, hashOf(""), undefined])
    })
  )

  it.effect("is a blob when it is no text or longer than 32 KiB", () =>
    Effect.gen(function* () {
      const fits = "é".repeat(16 * 1024)
      const { read } = yield* withPdf({
        "/user/a/fits.txt": fits,
        "/user/a/long.txt": `${fits}x`,
        "/user/a/logo.png": "not really"
      })
      const replies = yield* Effect.forEach(["fits.txt", "long.txt", "logo.png"], (path) => read("pdf", path))
      assert.deepStrictEqual(
        replies.map(({ blob_handle, body, mime_type, sha256, total_size }) => [
          body === undefined,
          typeof blob_handle === "string" ? parseBlobHandle(blob_handle) : blob_handle,
          mime_type,
          total_size,
          sha256
        ]),
        [
          [false, undefined, "text/plain", 32768, hashOf(fits)],
          [
            true,
            { channel: "skill", computer: "pc", name: "pdf", relPath: "long.txt" },
            "text/plain",
            32769,
            hashOf(`${fits}x`)
          ],
          [
            true,
            { channel: "skill", computer: "pc", name: "pdf", relPath: "logo.png" },
            "image/png",
            10,
            hashOf("not really")
          ]
        ]
      )
    })
  )

  it.effect("is rejected for a malformed name before the skill is looked up", () =>
    Effect.gen(function* () {
      const { read } = yield* withSkills({})
      assert.deepStrictEqual(yield* read("No Skill", "../x"), {
        code: 4016,
        message: "Invalid skill name format",
        details: { name: "No Skill" }
      })
    })
  )

  it.effect("is rejected for an unknown name before its path is looked at", () =>
    Effect.gen(function* () {
      const { read } = yield* withSkills({})
      for (const name of ["pdf", "a:b", "mcp:alpha:pdf"]) {
        assert.deepStrictEqual(yield* read(name, "../x"), { code: 4014, message: "Skill not found", details: { name } })
      }
    })
  )

  it.effect("is rejected with the reason and the requested path", () =>
    Effect.gen(function* () {
      const { link: makeLink, read } = yield* withPdf({
        "/user/a/.env": "SECRET=1",
        "/user/secret/file.md": "secret"
      })
      yield* makeLink("/user/a/harmless.md", ".env")
      yield* makeLink("/user/a/out", "../secret")
      const reasons = [
        ["../secret/file.md", "traversal"],
        ["/user/a/SKILL.md", "traversal"],
        ["out/file.md", "traversal"],
        [".env", "forbidden"],
        ["harmless.md", "forbidden"],
        [".skillenv", "forbidden"],
        ["none.md", "not_found"],
        ["", "not_found"]
      ] as const
      for (const [path, reason] of reasons) {
        assert.deepStrictEqual(yield* read("pdf", path), {
          code: 4017,
          message: "Skill resource not accessible",
          details: { reason, rel_path: path }
        })
      }
    })
  )

  it.effect("is readable as soon as the list of skills is complete", () =>
    Effect.gen(function* () {
      const { read } = yield* withSkills({ "/user/a/SKILL.md": skillText("pdf") })
      assert.strictEqual((yield* read("pdf"))["body"], "# pdf\n")
    })
  )

  it.effect("is not sent as text when UTF-8 cannot carry it, and keeps a byte order mark", () =>
    Effect.gen(function* () {
      const invalid = new Uint8Array([0xff, 0x41])
      const marked = "\u{feff}text"
      const { read } = yield* withPdf({
        "/user/a/invalid.txt": invalid,
        "/user/a/marked.txt": marked
      })
      const first = yield* read("pdf", "invalid.txt")
      assert.deepStrictEqual([first["body"], first["sha256"]], [undefined, hashOf(invalid)])
      const second = yield* read("pdf", "marked.txt")
      assert.deepStrictEqual([second["body"], second["total_size"]], [marked, 7])
    })
  )
})

describe("blob of a skill", () => {
  const chunk = (answer: unknown) => {
    const { blob, eof, sha256, total_size } = answer as JsonObject
    return { text: Buffer.from(String(blob), "base64").toString(), eof, sha256, total_size }
  }

  it.effect("is read in chunks by its handle", () =>
    Effect.gen(function* () {
      const { request, read } = yield* withPdf({
        "/user/a/data.bin": "0123456789"
      })
      const { blob_handle } = yield* read("pdf", "data.bin")
      const get = (offset: number) =>
        Effect.map(request("client:get_blob", { blob_handle, chunk_offset: offset, max_chunk_bytes: 6 }), chunk)
      const whole = { sha256: hashOf("0123456789"), total_size: 10 }
      assert.deepStrictEqual(yield* get(0), { text: "012345", eof: false, ...whole })
      assert.deepStrictEqual(yield* get(6), { text: "6789", eof: true, ...whole })
    })
  )

  it.effect("has another hash in the chunk after a change", () =>
    Effect.gen(function* () {
      const { request, read, write } = yield* withPdf({
        "/user/a/data.bin": "before"
      })
      const { blob_handle } = yield* read("pdf", "data.bin")
      yield* write("/user/a/data.bin", "and after")
      assert.deepStrictEqual(chunk(yield* request("client:get_blob", { blob_handle, chunk_offset: 4 })), {
        text: "after",
        eof: true,
        sha256: hashOf("and after"),
        total_size: 9
      })
    })
  )

  it.effect("is gone with its file, and never one that Agents may not read", () =>
    Effect.gen(function* () {
      const { request, read, remove } = yield* withPdf({
        "/user/a/data.bin": "data",
        "/user/a/.env": "SECRET=1"
      })
      const { blob_handle } = yield* read("pdf", "data.bin")
      yield* remove("/user/a/data.bin")
      const forged = (relPath: string, name = "pdf") =>
        formatBlobHandle({ channel: "skill", computer: "pc", name, relPath })
      const handles = [blob_handle, forged("data.bin", "none"), forged(".env"), forged("../x"), forged("x", "A")]
      const reasons = yield* Effect.forEach(handles, (handle) =>
        Effect.map(request("client:get_blob", { blob_handle: handle }), (answer) => {
          const { code, details } = answer as JsonObject
          return [code, (details as JsonObject)["reason"]]
        })
      )
      assert.deepStrictEqual(reasons, [
        [4018, "gone"],
        [4018, "gone"],
        [4018, "forbidden"],
        [4018, "invalid_handle"],
        [4018, "invalid_handle"]
      ])
    })
  )
})
