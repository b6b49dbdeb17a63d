import { writeFile } from "node:fs/promises"
import { Effect } from "effect"
import { Agent } from "../../../../application/agent/Agent.ts"
import { errorMessage } from "../../../../domain/errorMessage.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import { didYouMean } from "../../../config/didYouMean.ts"
import { CommandFailed, failCommand } from "../../../CommandFailed.ts"
import { formatColumns, truncateLine } from "../../output/format.ts"
import { printLine, printResult } from "../../output/print.ts"
import { runAsAgent } from "../actions.ts"
import type * as flags from "../flags.ts"
import { printReplies, queryComputers } from "../queries.ts"

const skillsOf = (computer: string, { skills }: Agent["Service"]) =>
  Effect.map(skills(computer), (list) => list.map((skill) => ({ computer, ...skill })))

/** Lists the skills of the Computers. */
export const listSkills = Effect.fnUntraced(function* (options: flags.QueryOptions) {
  yield* printReplies(options, skillsOf, {
    toJson: (found) => found.flat(),
    format: (found) =>
      formatColumns(found.flat().map(({ computer, description, name }) => [computer, name, truncateLine(description)])),
    none: "no skills"
  })
}, runAsAgent)

/** Finds the only Computer that has the skill. */
const findSkill = Effect.fnUntraced(function* (options: flags.SkillOptions) {
  const skills = (yield* queryComputers(options, skillsOf)).flat()
  const [found, ...others] = skills.filter(({ name }) => name === options.skill)
  if (found === undefined) {
    const names = skills.map(({ name }) => name)
    return yield* failCommand(
      `No Computer of this office has a skill '${options.skill}'${didYouMean(options.skill, names)}`
    )
  }
  if (others.length === 0) return found
  const owners = [found, ...others].map(({ computer }) => computer).join("|")
  return yield* failCommand(`Several Computers have a skill '${options.skill}': choose one by --computer ${owners}`)
})

/** Prints a file of a skill, or writes it to a file. */
export const readSkill = Effect.fnUntraced(function* (options: flags.SkillOptions) {
  const { output, path } = options
  const { computer, name } = yield* findSkill(options)
  const agent = yield* Agent
  const { bytes, text, ...file } = yield* agent.readSkill(computer, name, path)
  if (output !== undefined) {
    yield* Effect.tryPromise({
      try: () => writeFile(output, bytes),
      catch: (error) => new CommandFailed({ message: `Cannot write ${output}: ${errorMessage(error)}` })
    })
    return yield* printLine(`${file.totalSize} bytes written to ${output}`)
  }
  if (text === undefined && !options.json) {
    return yield* failCommand(`${file.relPath} is no text: write it to a file by --output FILE`)
  }
  const content = text === undefined ? { base64: Buffer.from(bytes).toString("base64") } : { text }
  yield* printResult(options, { computer, ...definedOnly(file), ...content }, text ?? "")
}, runAsAgent)
