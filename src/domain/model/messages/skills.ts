import { Schema } from "effect"
import { JsonObject } from "../../json.ts"
import { optionalField } from "../fields.ts"

/** The file of a skill that is read by default. */
export const skillMainFile = "SKILL.md"

/** A skill of a Computer. Its name is opaque to Agents. */
export const SkillRef = Schema.Struct({
  name: Schema.String,
  /** `user`, `marketplace:<repository>` or `mcp:<server>`. */
  source: Schema.String,
  /** The absolute folder of the skill on the Computer. */
  path: Schema.String,
  description: Schema.String,
  /** The resource of an MCP server. */
  uri: optionalField(Schema.String),
  license: optionalField(Schema.String),
  compatibility: optionalField(Schema.String),
  allowedTools: optionalField(Schema.Array(Schema.String)),
  /** Members of its front matter without a meaning in the protocol. */
  metadata: optionalField(JsonObject),
  version: optionalField(Schema.String),
  tags: optionalField(Schema.Array(Schema.String))
})
export type SkillRef = typeof SkillRef.Type

/** A file of a skill: its text, or the handle of a blob. Size in bytes, hash in hexadecimal, of exactly the sent bytes. */
export const SkillFile = Schema.Struct({
  name: Schema.String,
  relPath: Schema.String,
  mimeType: Schema.String,
  totalSize: Schema.Natural,
  sha256: Schema.String,
  body: optionalField(Schema.String),
  blobHandle: optionalField(Schema.String)
})
export type SkillFile = typeof SkillFile.Type
