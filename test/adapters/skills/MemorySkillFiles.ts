import { Effect, Layer, PubSub, Stream } from "effect"
import { type OpenSkillFile, SkillFileError, SkillFiles } from "../../../src/application/ports/files/SkillFiles.ts"
import { isSkillFolder } from "../../../src/domain/skills/skillPaths.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import { parseYamlValue } from "../../../src/adapters/skills/parseYamlValue.ts"
import { checkFiles, unpackArchive } from "../../../src/adapters/skills/unpackArchive.ts"

type Entry =
  | { readonly _tag: "File"; readonly bytes: Uint8Array; readonly version: string }
  | { readonly _tag: "Link"; readonly target: string }

/** A file system in this process, with functions to change it. Paths are absolute, with `/` in between. */
export interface MemorySkillFiles {
  readonly layer: Layer.Layer<SkillFiles>
  /** Writes a file; its folders need not exist. */
  readonly write: (path: string, content: string | Uint8Array) => Effect.Effect<void>
  /** Makes a link; a relative target starts at the folder of the link. */
  readonly link: (path: string, target: string) => Effect.Effect<void>
  /** Removes a file, or a folder with its files. */
  readonly remove: (path: string) => Effect.Effect<void>
}

/** Against cycles of links. */
const maxLinks = 40

/** Changes that wait for a slow watcher. */
const maxQueuedChanges = 1024

const stagingRoot = "/staged"

const isInside = (folder: string, path: string): boolean => path === folder || path.startsWith(`${folder}/`)

const notFound = (path: string) => new SkillFileError({ reason: "not_found", message: `${path} does not exist` })

/** Makes the entries of a file system, and resolves paths among them. */
const makeEntries = () => {
  const entries = new Map<string, Entry>()

  /** Resolves `.`, `..` and links; a path that does not exist also resolves. */
  const resolve = (path: string, links = 0): string => {
    const resolved: Array<string> = []
    const segments = path.split("/")
    for (const [index, segment] of segments.entries()) {
      if (segment === "..") resolved.pop()
      else if (segment !== "" && segment !== ".") resolved.push(segment)
      const entry = entries.get(`/${resolved.join("/")}`)
      if (entry?._tag !== "Link" || links >= maxLinks) continue
      const target = entry.target.startsWith("/") ? entry.target : `/${resolved.slice(0, -1).join("/")}/${entry.target}`
      return resolve([target, ...segments.slice(index + 1)].join("/"), links + 1)
    }
    return `/${resolved.join("/")}`
  }

  const isFolder = (path: string): boolean => [...entries.keys()].some((one) => one.startsWith(`${path}/`))

  const listFolders = (folder: string): ReadonlyArray<string> => {
    const root = resolve(folder)
    const names = [...entries.keys()].flatMap((path) =>
      path.startsWith(`${root}/`) ? (path.slice(root.length + 1).split("/", 1)[0] ?? []) : []
    )
    const isListed = (name: string) => isSkillFolder(name) && isFolder(resolve(`${root}/${name}`))
    return [...new Set(names)].filter(isListed).toSorted()
  }

  const resolveInside = (root: string, below: string) =>
    Effect.suspend(() => {
      const realRoot = resolve(root)
      const path = resolve(`${realRoot}/${below}`)
      if (isInside(realRoot, path)) return Effect.succeed({ root: realRoot, path })
      const message = `a link leads from ${below} out of its root`
      return Effect.fail(new SkillFileError({ reason: "traversal", message }))
    })
  return { entries, isFolder, listFolders, resolveInside }
}

/** Makes a file system in memory, for tests and for hosts without files. */
export const makeMemorySkillFiles: Effect.Effect<MemorySkillFiles> = Effect.gen(function* () {
  const { entries, isFolder, listFolders, resolveInside } = makeEntries()
  const changed = yield* PubSub.sliding<string>(maxQueuedChanges)
  let versions = 0

  const put = (path: string, entry: Entry) =>
    Effect.andThen(
      Effect.sync(() => entries.set(path, entry)),
      PubSub.publish(changed, path)
    )
  const writeFile = (path: string, bytes: Uint8Array) => put(path, { _tag: "File", bytes, version: `${++versions}` })

  const remove = (path: string) =>
    Effect.suspend(() => {
      for (const one of entries.keys()) if (isInside(path, one)) entries.delete(one)
      return PubSub.publish(changed, path)
    })

  const open = Effect.fnUntraced(function* (root: string, below: string) {
    const { path, root: realRoot } = yield* resolveInside(root, below)
    const found = entries.get(path)
    if (found?._tag !== "File") return yield* notFound(path)
    const { bytes, version } = found
    const opened: OpenSkillFile = {
      path: path.slice(realRoot.length + 1),
      size: bytes.length,
      version,
      read: (offset, length) =>
        Effect.suspend(() =>
          entries.get(path) === found
            ? Effect.succeed(bytes.slice(offset, offset + length))
            : Effect.fail(new SkillFileError({ reason: "changed", message: "the file has changed" }))
        )
    }
    return opened
  })

  const service = SkillFiles.of({
    listFolders: (folder) => Effect.sync(() => listFolders(folder)),
    resolveFolder: Effect.fnUntraced(function* (root, below) {
      const { path } = yield* resolveInside(root, below)
      return isFolder(path) ? path : yield* notFound(path)
    }),
    open,
    stage: Effect.fnUntraced(function* (server, skill, content) {
      const files =
        content._tag === "Archive"
          ? yield* unpackArchive(content.format, content.bytes)
          : yield* Effect.fromResult(checkFiles(content.files))
      const folder = `${stagingRoot}/${encodeURIComponent(server)}/${skill}`
      yield* remove(folder)
      yield* Effect.forEach(files, ({ bytes, path }) => writeFile(`${folder}/${path}`, bytes), { discard: true })
      return folder
    }),
    watch: Effect.fnUntraced(function* (folders) {
      const subscription = yield* PubSub.subscribe(changed)
      return Stream.fromSubscription(subscription).pipe(
        Stream.filter((path) => folders.some((folder) => isInside(folder, path))),
        Stream.map(() => undefined)
      )
    }),
    parseYaml: parseYamlValue
  })

  return {
    layer: Layer.succeed(SkillFiles, service),
    write: (path, content) => writeFile(path, typeof content === "string" ? encodeUtf8(content) : content),
    link: (path, target) => Effect.asVoid(put(path, { _tag: "Link", target })),
    remove: (path) => Effect.asVoid(remove(path))
  }
})
