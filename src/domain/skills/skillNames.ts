import { Match, Result } from "effect"

/** The name of a skill, by its source. */
export type SkillName =
  | { readonly _tag: "User"; readonly skill: string }
  | { readonly _tag: "Marketplace"; readonly plugin: string; readonly skill: string }
  | { readonly _tag: "Mcp"; readonly server: string; readonly skill: string }

/** The first segment of the names of skills from MCP servers. */
const mcpPrefix = "mcp"

const maxNameLength = 64

const namePattern = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const serverPattern = /^[A-Za-z0-9_-]+$/

/** Gives the reason why a text cannot name a skill or a plugin inside the name of a skill; `undefined` for a valid one. */
export const checkNameSegment = (text: string): string | undefined => {
  if (text.length > maxNameLength) return `longer than ${maxNameLength} characters`
  return namePattern.test(text) ? undefined : "expected a-z, 0-9 and single - between them"
}

const whenValid = (name: SkillName, ...segments: ReadonlyArray<string>): Result.Result<SkillName, string> => {
  const problem = segments.map(checkNameSegment).find((one) => one !== undefined)
  return problem === undefined ? Result.succeed(name) : Result.fail(problem)
}

/**
 * Parses the name of a skill: `skill` of the user, `plugin:skill` of a marketplace, or `mcp:server:skill`. Fails with the
 * reason.
 */
export const parseSkillName = (text: string): Result.Result<SkillName, string> => {
  const [first = "", second, third, ...others] = text.split(":")
  if (second === undefined) return whenValid({ _tag: "User", skill: first }, first)
  if (third === undefined) return whenValid({ _tag: "Marketplace", plugin: first, skill: second }, first, second)
  if (others.length > 0) return Result.fail("more than three segments")
  if (first !== mcpPrefix) return Result.fail(`a name of three segments must begin with ${mcpPrefix}`)
  if (!serverPattern.test(second)) return Result.fail("expected letters, digits, _ and - in the name of the server")
  return whenValid({ _tag: "Mcp", server: second, skill: third }, third)
}

export const formatSkillName = Match.typeTags<SkillName, string>()({
  User: ({ skill }) => skill,
  Marketplace: ({ plugin, skill }) => `${plugin}:${skill}`,
  Mcp: ({ server, skill }) => `${mcpPrefix}:${server}:${skill}`
})

/** The segment of an MCP server in the names of its skills: a bundle id is its own segment. */
export const serverSegment = (serverId: string): string => serverId.replaceAll(/[^A-Za-z0-9_-]/gu, "_")

/** The texts of `source` in the list of skills. */
export const userSource = "user"
export const marketplaceSource = (marketplace: string): string => `marketplace:${marketplace}`
export const mcpSource = (segment: string): string => `${mcpPrefix}:${segment}`
