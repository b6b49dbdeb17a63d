import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, type Scope, Stream } from "effect"
import { Tar, Zip } from "effect/encoding"
import { type SkillFileError, SkillFiles, type StagedContent } from "../../../src/application/ports/files/SkillFiles.ts"
import { skillLimits } from "../../../src/domain/skills/skillLimits.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import { tarGzOf, tarGzWithPath, zipOf, zipWithLink, zipWithPath } from "./archives.ts"
import { effectWith } from "../../testWith.ts"

/** A file system under test. Paths are below `folder`, which exists and is empty. */
export interface SkillWorld {
  readonly layer: Layer.Layer<SkillFiles>
  /** Absolute, with all links resolved. */
  readonly folder: string
  readonly write: (path: string, content: string | Uint8Array) => Effect.Effect<void>
  /** Makes a link; a relative target starts at the folder of the link. */
  readonly link: (path: string, target: string) => Effect.Effect<void>
  readonly remove: (path: string) => Effect.Effect<void>
}

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

/** Tests that all implementations of the port pass. */
export const testSkillFiles = (name: string, open: Effect.Effect<SkillWorld, never, Scope.Scope>) => {
  const opened = Effect.gen(function* () {
    const world = yield* open
    const files = Context.get(yield* Layer.build(world.layer), SkillFiles)
    /** The text of a file. */
    const textOf = (root: string, path: string) =>
      files.open(root, path).pipe(
        Effect.flatMap(({ read, size }) => read(0, size)),
        Effect.map(decode),
        Effect.scoped
      )
    const reasonOf = <A>(effect: Effect.Effect<A, SkillFileError>) =>
      Effect.map(Effect.flip(effect), ({ reason }) => reason)
    const fixture = (content: StagedContent) => files.stage("alpha", "pdf", content)
    const rejection = (content: StagedContent) => Effect.map(Effect.flip(fixture(content)), ({ message }) => message)
    return { ...world, files, textOf, reasonOf, fixture, rejection }
  })
  const effect = effectWith(opened)

  describe(`${name}: folders`, () => {
    effect(
      "lists folders and links to folders by name, without files and hidden ones",
      function* ({ files, folder, link, write }) {
        yield* write("b/SKILL.md", "")
        yield* write("a/deep/file", "")
        yield* write(".git/config", "")
        yield* write("node_modules/x/SKILL.md", "")
        yield* write("file", "")
        yield* link("c", "a/deep")
        yield* link("broken", "none")
        assert.deepStrictEqual(yield* files.listFolders(folder), ["a", "b", "c"])
      }
    )

    effect("lists nothing in a missing folder", function* ({ files, folder }) {
      assert.deepStrictEqual(yield* files.listFolders(`${folder}/none`), [])
    })

    effect("resolves a folder below a root, and the root itself", function* ({ files, folder, link, write }) {
      yield* write("root/a/b/file", "")
      yield* link("other", "root/a")
      assert.strictEqual(yield* files.resolveFolder(`${folder}/root`, "a/b"), `${folder}/root/a/b`)
      assert.strictEqual(yield* files.resolveFolder(`${folder}/other`, "."), `${folder}/root/a`)
    })

    effect(
      "resolves no file, no missing folder and no folder outside of the root",
      function* ({ files, folder, link, reasonOf, write }) {
        yield* write("root/file", "")
        yield* write("secret/file", "")
        yield* link("root/out", "../secret")
        const resolve = (path: string) => reasonOf(files.resolveFolder(`${folder}/root`, path))
        assert.deepStrictEqual(yield* Effect.forEach(["file", "none", "out"], resolve), [
          "not_found",
          "not_found",
          "traversal"
        ])
      }
    )
  })

  describe(`${name}: file`, () => {
    effect("is read in parts, fewer bytes at its end", function* ({ files, folder, write }) {
      yield* write("root/a/file.txt", "0123456789")
      const { path, read, size } = yield* files.open(`${folder}/root`, "a/file.txt")
      assert.deepStrictEqual([path, size], ["a/file.txt", 10])
      const parts = yield* Effect.forEach(
        [
          [0, 4],
          [8, 4],
          [10, 4]
        ] as const,
        ([offset, length]) => read(offset, length)
      )
      assert.deepStrictEqual(parts.map(decode), ["0123", "89", ""])
    })

    effect(
      "has another version after a change, and its old version is not readable",
      function* ({ files, folder, reasonOf, write }) {
        yield* write("file", "one")
        const before = yield* files.open(folder, "file")
        assert.strictEqual((yield* files.open(folder, "file")).version, before.version)
        yield* write("file", "longer")
        assert.strictEqual(yield* reasonOf(before.read(0, 3)), "changed")
        assert.notStrictEqual((yield* files.open(folder, "file")).version, before.version)
      }
    )

    effect("has the path of its target when it is a link below the root", function* ({ files, folder, link, write }) {
      yield* write("root/.env", "secret")
      yield* link("root/readme.md", ".env")
      assert.strictEqual((yield* files.open(`${folder}/root`, "readme.md")).path, ".env")
    })

    effect(
      "is not readable through a link out of the root, not even when it is missing there",
      function* ({ files, folder, link, reasonOf, write }) {
        yield* write("root/SKILL.md", "")
        yield* write("rooted/file", "secret")
        yield* write("secret/file", "secret")
        yield* link("root/file", "../secret/file")
        yield* link("root/sibling", "../rooted")
        yield* link("root/folder", "../secret")
        yield* link("root/absolute", `${folder}/secret`)
        yield* link("root/twice", "folder")
        const paths = ["file", "sibling/file", "folder/file", "absolute/file", "twice/file", "folder/none", "file/none"]
        const reasons = yield* Effect.forEach(paths, (path) =>
          reasonOf(Effect.scoped(files.open(`${folder}/root`, path)))
        )
        assert.deepStrictEqual(
          reasons,
          paths.map(() => "traversal")
        )
      }
    )

    effect("is not found when it is missing or a folder", function* ({ files, folder, reasonOf, write }) {
      yield* write("root/a/file", "")
      const paths = ["none", "a", "a/file/deeper", "none/file"]
      const reasons = yield* Effect.forEach(paths, (path) =>
        reasonOf(Effect.scoped(files.open(`${folder}/root`, path)))
      )
      assert.deepStrictEqual(
        reasons,
        paths.map(() => "not_found")
      )
    })
  })

  describe(`${name}: stage`, () => {
    effect("holds the given files", function* ({ fixture, textOf }) {
      const root = yield* fixture({
        _tag: "Files",
        files: [
          { path: "SKILL.md", bytes: encodeUtf8("main") },
          { path: "scripts/run.sh", bytes: encodeUtf8("run") }
        ]
      })
      assert.deepStrictEqual(yield* Effect.forEach(["SKILL.md", "scripts/run.sh"], (path) => textOf(root, path)), [
        "main",
        "run"
      ])
    })

    effect("unpacks ZIP and tar archives, with or without a folder around their files", function* ({ files, textOf }) {
      const zip = yield* zipOf([
        Zip.directory("scripts/"),
        Zip.file("SKILL.md", "main", { method: "Deflate" }),
        Zip.file("scripts/a.py", "a")
      ])
      const tar = yield* tarGzOf([Tar.directory("./"), Tar.file("./SKILL.md", "main"), Tar.file("./scripts/a.py", "a")])
      const wrapped = yield* tarGzOf([
        Tar.directory("pdf/"),
        Tar.file("pdf/scripts/a.py", "a"),
        Tar.file("pdf/SKILL.md", "main")
      ])
      const contents = [
        { _tag: "Archive", format: "zip", bytes: zip },
        { _tag: "Archive", format: "tar.gz", bytes: tar },
        { _tag: "Archive", format: "tar.gz", bytes: wrapped }
      ] as const
      for (const [index, content] of contents.entries()) {
        const root = yield* files.stage(`s${index}`, "pdf", content)
        assert.deepStrictEqual(yield* Effect.forEach(["SKILL.md", "scripts/a.py"], (path) => textOf(root, path)), [
          "main",
          "a"
        ])
      }
    })

    effect("replaces the files of a skill in its place", function* ({ reasonOf, fixture, textOf }) {
      const first = yield* fixture({ _tag: "Files", files: [{ path: "old", bytes: encodeUtf8("1") }] })
      const second = yield* fixture({ _tag: "Files", files: [{ path: "new", bytes: encodeUtf8("2") }] })
      assert.strictEqual(second, first)
      assert.strictEqual(yield* textOf(first, "new"), "2")
      assert.strictEqual(yield* reasonOf(textOf(first, "old")), "not_found")
    })

    effect(
      "keeps the files of other skills and servers, also of those whose names differ in case",
      function* ({ files, textOf }) {
        const content = (text: string) =>
          ({ _tag: "Files", files: [{ path: "file", bytes: encodeUtf8(text) }] }) as const
        const roots = yield* Effect.forEach(
          [
            ["a", "x"],
            ["a", "y"],
            ["A", "x"],
            ["a/../b", "x"],
            ["a b", "x"],
            ["a.b", "x"]
          ] as const,
          ([server, skill]) => files.stage(server, skill, content(`${server} ${skill}`))
        )
        assert.deepStrictEqual(yield* Effect.forEach(roots, (root) => textOf(root, "file")), [
          "a x",
          "a y",
          "A x",
          "a/../b x",
          "a b x",
          "a.b x"
        ])
      }
    )

    effect("keeps the previous files when the new ones are rejected", function* ({ rejection, fixture, textOf }) {
      const root = yield* fixture({ _tag: "Files", files: [{ path: "file", bytes: encodeUtf8("1") }] })
      yield* rejection({ _tag: "Archive", format: "zip", bytes: encodeUtf8("not an archive") })
      assert.strictEqual(yield* textOf(root, "file"), "1")
    })

    effect("rejects paths out of the skill", function* ({ rejection }) {
      const archives: ReadonlyArray<StagedContent> = [
        { _tag: "Archive", format: "tar.gz", bytes: yield* tarGzOf([Tar.file("a/../../x", "1")]) },
        { _tag: "Archive", format: "tar.gz", bytes: yield* tarGzWithPath("/etc/x") },
        { _tag: "Archive", format: "tar.gz", bytes: yield* tarGzWithPath("a\\..\\x") },
        { _tag: "Archive", format: "zip", bytes: yield* zipOf([Zip.file("../x", "1")]) },
        { _tag: "Archive", format: "zip", bytes: yield* zipWithPath("/etc/x") },
        { _tag: "Archive", format: "zip", bytes: yield* zipWithPath("C:/x") },
        { _tag: "Files", files: [{ path: "../x", bytes: encodeUtf8("1") }] }
      ]
      for (const archive of archives) assert.include(yield* rejection(archive), "leads out of it")
    })

    effect("rejects links", function* ({ rejection }) {
      const archives: ReadonlyArray<StagedContent> = [
        { _tag: "Archive", format: "tar.gz", bytes: yield* tarGzOf([Tar.symlink("link", "/etc/passwd")]) },
        {
          _tag: "Archive",
          format: "tar.gz",
          bytes: yield* tarGzOf([Tar.file("SKILL.md", "1"), Tar.hardlink("link", "SKILL.md")])
        },
        { _tag: "Archive", format: "zip", bytes: yield* zipWithLink }
      ]
      for (const archive of archives) assert.include(yield* rejection(archive), "neither a file nor a folder")
    })

    effect("rejects more bytes than allowed, before it unpacks them", function* ({ rejection }) {
      const zeros = new Uint8Array(skillLimits.maxStagedBytes / 2 + 1)
      const archives: ReadonlyArray<StagedContent> = [
        { _tag: "Archive", format: "tar.gz", bytes: yield* tarGzOf([Tar.file("a", zeros), Tar.file("b", zeros)]) },
        {
          _tag: "Archive",
          format: "zip",
          bytes: yield* zipOf([
            Zip.file("a", zeros, { method: "Deflate" }),
            Zip.file("b", zeros, { method: "Deflate" })
          ])
        },
        {
          _tag: "Files",
          files: [
            { path: "a", bytes: zeros },
            { path: "b", bytes: zeros }
          ]
        }
      ]
      for (const archive of archives) assert.include(yield* rejection(archive), "more than 67108864 bytes")
    })

    effect("rejects too many files, and too many folders in each other", function* ({ rejection }) {
      const many = Array.from({ length: skillLimits.maxFiles + 1 }, (_, index) => Zip.file(`f${index}`, ""))
      const bytes = yield* zipOf(many)
      assert.include(yield* rejection({ _tag: "Archive", format: "zip", bytes }), "more than 2000 files")
      const deep = yield* tarGzOf([Tar.file(`${"d/".repeat(skillLimits.maxDepth)}file`, "1")])
      assert.include(yield* rejection({ _tag: "Archive", format: "tar.gz", bytes: deep }), "too deep")
    })

    effect("rejects damaged archives", function* ({ rejection }) {
      const whole = yield* tarGzOf([Tar.file("SKILL.md", "x".repeat(5000))])
      const archives: ReadonlyArray<StagedContent> = [
        { _tag: "Archive", format: "tar.gz", bytes: whole.subarray(0, whole.length - 20) },
        { _tag: "Archive", format: "tar.gz", bytes: encodeUtf8("text") },
        { _tag: "Archive", format: "zip", bytes: new Uint8Array(0) },
        { _tag: "Archive", format: "zip", bytes: (yield* zipOf([Zip.file("a", "0123456789")])).subarray(0, 35) }
      ]
      for (const archive of archives) assert.include(yield* rejection(archive), "the archive is rejected")
    })
  })

  describe(`${name}: watch`, () => {
    it.live("emits after changes below its folders", () =>
      Effect.gen(function* () {
        const { files, folder, remove, write } = yield* opened
        yield* write("a/one/SKILL.md", "1")
        const changes = yield* files.watch([`${folder}/a`, `${folder}/none`])
        for (const change of [write("a/two/SKILL.md", "2"), remove("a/one"), write("none/x/SKILL.md", "3")]) {
          const seen = yield* Effect.forkChild(Stream.runHead(changes), { startImmediately: true })
          yield* change
          yield* Fiber.join(seen)
          // The same change may be reported again.
          yield* Stream.runDrain(Stream.interruptWhen(changes, Effect.sleep("1200 millis")))
        }
      })
    )
  })

  describe(`${name}: YAML`, () => {
    it.effect("is parsed to JSON", () =>
      Effect.gen(function* () {
        const { files } = yield* opened
        const text = "name: pdf\ntags: [a, b]\nmetadata:\n  n: 1\n  date: 2026-01-01\n  no: .nan\n"
        assert.deepStrictEqual(yield* files.parseYaml(text), {
          name: "pdf",
          tags: ["a", "b"],
          metadata: { n: 1, date: "2026-01-01", no: null }
        })
        assert.isNull(yield* files.parseYaml(""))
      })
    )

    it.effect("is rejected with errors, cycles and expansions", () =>
      Effect.gen(function* () {
        const { files } = yield* opened
        const nested = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`)
        const bomb = ["a0: &a0 [x]", ...nested].join("\n")
        for (const text of ["a: [", "a: &x [*x]", bomb, `a: &a ${"x".repeat(50_000)}\nb: [*a,*a,*a,*a,*a,*a]`]) {
          assert.notInclude(yield* Effect.flip(files.parseYaml(text)), "\n")
        }
      })
    )
  })
}
