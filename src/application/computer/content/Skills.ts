import { Effect, Option, Result, type Scope, Stream } from "effect"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { skillMainFile, type SkillRef } from "../../../domain/model/messages/requests.ts"
import { invalidSkillName, skillFileNotAccessible, skillNotFound } from "../../../domain/skills/skillErrors.ts"
import { parseSkillName } from "../../../domain/skills/skillNames.ts"
import { parseSkillPath } from "../../../domain/skills/skillPaths.ts"
import { SkillFiles } from "../../ports/files/SkillFiles.ts"
import { makeRefresher } from "../../shared/Refresher.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import { makeChangeNotifier } from "../ChangeNotifier.ts"
import type { Fingerprints } from "../servers/ServersSnapshot.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { makeSkillFileReader, type SkillFileSource } from "./skills/readSkillFile.ts"
import { makeServerSkills } from "./skills/serverSkills.ts"
import {
  emptyScan,
  type FoundSkill,
  joinScans,
  makeSkillReports,
  scanMarketplace,
  scanUserFolder,
  type SkillScan,
  withUniqueNames
} from "./skills/SkillScan.ts"

/** Folders with skills, beside those of MCP servers. */
export interface SkillFolders {
  /** The absolute path of a folder with one folder for each skill of the user. */
  readonly userFolder?: string | undefined
  /** The absolute paths of marketplaces: folders with plugins. */
  readonly marketplaces?: ReadonlyArray<string> | undefined
}

interface SkillsParts {
  readonly servers: ServerSupervisor
  readonly folders: SkillFolders
  readonly notify: (part: ComputerPart) => Effect.Effect<void>
}

/** The skills of a Computer (spec of 0.2.1 §1.2). */
export interface Skills {
  /** The skills with their front matter: those of the user, of the marketplaces, then of the running MCP servers. */
  readonly list: Effect.Effect<ReadonlyArray<SkillRef>>
  /** Finds a file of a skill, `SKILL.md` by default. Fails with 4016, 4014 or 4017. */
  readonly read: (name: string, relPath?: string) => Effect.Effect<SkillFileSource, ProtocolError>
}

/** Names nothing: a Computer without access to files. */
const noSkills: Skills = {
  list: Effect.succeed([]),
  read: (name) => Effect.fail(Result.isFailure(parseSkillName(name)) ? invalidSkillName(name) : skillNotFound(name))
}

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

/**
 * Makes the skills of a Computer: scans folders, stages the skills of MCP servers, and announces changes of the list. The
 * host provides the port `SkillFiles`; without it there are no skills.
 */
export const makeSkills = Effect.fnUntraced(function* (parts: SkillsParts) {
  const files = yield* Effect.serviceOption(SkillFiles)
  if (Option.isSome(files)) return yield* makeFileSkills(files.value, parts)
  const { marketplaces = [], userFolder } = parts.folders
  if (userFolder !== undefined || marketplaces.length > 0) {
    yield* Effect.logWarning("skill folders ignored", { reason: "this host has no access to files" })
  }
  return noSkills
})
