import { Context, Effect, Option, Result, type Scope } from "effect"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { SkillRef } from "../../../domain/model/messages/requests.ts"
import { invalidSkillName, skillNotFound } from "../../../domain/skills/skillErrors.ts"
import { parseSkillName } from "../../../domain/skills/skillNames.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import type { SkillFileSource } from "./skills/readSkillFile.ts"

/** Folders with skills, beside those of MCP servers. */
export interface SkillFolders {
  /** The absolute path of a folder with one folder for each skill of the user. */
  readonly userFolder?: string | undefined
  /** The absolute paths of marketplaces: folders with plugins. */
  readonly marketplaces?: ReadonlyArray<string> | undefined
}

/** What the skills of a Computer need of it. */
export interface SkillsParts {
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

/** Where the skills of a Computer come from. */
export class SkillSource extends Context.Service<
  SkillSource,
  {
    /** Finds the skills of a Computer until the scope closes, and announces changes of their list. */
    readonly open: (parts: SkillsParts) => Effect.Effect<Skills, never, Scope.Scope>
  }
>()("a2c-smcp/application/computer/content/SkillSource") {}

/** Makes the skills of a Computer. The host provides their source; without one the Computer has no skills. */
export const makeSkills = Effect.fnUntraced(function* (parts: SkillsParts) {
  const source = yield* Effect.serviceOption(SkillSource)
  if (Option.isSome(source)) return yield* source.value.open(parts)
  const { marketplaces = [], userFolder } = parts.folders
  if (userFolder !== undefined || marketplaces.length > 0) {
    yield* Effect.logWarning("skill folders ignored", { reason: "this host has no access to files" })
  }
  return noSkills
})
