import { Effect, Layer, Result, type Scope, Stream } from "effect"
import { skillMainFile } from "../../../../domain/model/messages/requests.ts"
import { invalidSkillName, skillFileNotAccessible, skillNotFound } from "../../../../domain/skills/skillErrors.ts"
import { parseSkillName } from "../../../../domain/skills/skillNames.ts"
import { parseSkillPath } from "../../../../domain/skills/skillPaths.ts"
import { SkillFiles } from "../../../ports/files/SkillFiles.ts"
import { makeRefresher } from "../../../shared/Refresher.ts"
import { ComputerSettings } from "../../ComputerSettings.ts"
import { makeChangeNotifier } from "../../ChangeNotifier.ts"
import type { Fingerprints } from "../../servers/ServersSnapshot.ts"
import { type Skills, SkillSource, type SkillsParts } from "../Skills.ts"
import { makeSkillFileReader } from "./readSkillFile.ts"
import { makeServerSkills } from "./serverSkills.ts"
import {
  emptyScan,
  type FoundSkill,
  joinScans,
  makeSkillReports,
  scanMarketplace,
  scanUserFolder,
  type SkillScan,
  withUniqueNames
} from "./SkillScan.ts"

const makeFileSkills = Effect.fnUntraced(function* (
  files: SkillFiles["Service"],
  { folders: { marketplaces = [], userFolder }, notify, servers }: SkillsParts
): Effect.fn.Return<Skills, never, Scope.Scope> {
  const { changeThrottle, readTimeout } = yield* ComputerSettings
  const refresher = yield* makeRefresher()
  const readFile = yield* makeSkillFileReader(files)
  const report = makeSkillReports()
  let inFolders = emptyScan
  let scanServers = (): SkillScan => emptyScan
  let skills: ReadonlyMap<string, FoundSkill> = new Map()
  const listRefs = () => [...skills.values()].map(({ ref }) => ref)
  const fingerprints: Fingerprints = new Map([["skills", () => JSON.stringify(listRefs())]])
  const notifier = yield* makeChangeNotifier(notify, () => fingerprints, changeThrottle)

  const update: Effect.Effect<void> = Effect.suspend(() => {
    const found = withUniqueNames(joinScans([inFolders, scanServers()]))
    skills = new Map(found.skills.map((skill) => [skill.ref.name, skill]))
    return Effect.andThen(report(found.problems), notifier.observe)
  })
  const inServers = yield* makeServerSkills({ files, servers, refresh: refresher.refresh, onChange: update })
  scanServers = inServers.scan

  const watchedFolders = [...(userFolder === undefined ? [] : [userFolder]), ...marketplaces]
  const scanFolders = Effect.gen(function* () {
    const user = userFolder === undefined ? emptyScan : yield* scanUserFolder(files, userFolder)
    const others = yield* Effect.forEach(marketplaces, (folder) => scanMarketplace(files, folder))
    inFolders = joinScans([user, ...others])
    yield* update
  })
  const refreshFolders = watchedFolders.length === 0 ? Effect.void : refresher.refresh("folders", scanFolders)
  const settled = Effect.timeoutOption(refresher.awaitIdle, readTimeout)

  if (watchedFolders.length > 0) {
    const changes = yield* files.watch(watchedFolders)
    yield* Effect.forkScoped(Stream.runForEach(Stream.debounce(changes, changeThrottle), () => refreshFolders))
  }
  yield* refreshFolders

  return {
    list: Effect.gen(function* () {
      yield* refreshFolders
      yield* inServers.refreshOutdated
      yield* settled
      yield* update
      return listRefs()
    }).pipe(Effect.withSpan("Skills.list")),
    read: Effect.fn("Skills.read")(function* (name: string, relPath: string = skillMainFile) {
      const parsed = parseSkillName(name)
      if (Result.isFailure(parsed)) return yield* invalidSkillName(name)
      if (!skills.has(name)) yield* settled
      if (!skills.has(name) && parsed.success._tag === "Mcp") yield* inServers.stageIdle(parsed.success.server, settled)
      const skill = skills.get(name)
      if (skill === undefined) {
        if (parsed.success._tag === "Mcp") yield* inServers.rejectRestarting(parsed.success.server)
        return yield* skillNotFound(name)
      }
      const path = parseSkillPath(relPath)
      if (Result.isFailure(path)) return yield* skillFileNotAccessible(path.failure, relPath)
      return yield* readFile(skill.root, { path: path.success, relPath })
    })
  }
})

/** Scans folders, and stages the skills of MCP servers, by the port `SkillFiles`. */
export const layer: Layer.Layer<SkillSource, never, SkillFiles> = Layer.effect(
  SkillSource,
  Effect.map(SkillFiles, (files) => ({ open: (parts) => makeFileSkills(files, parts) }))
)
